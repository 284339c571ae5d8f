"""MINER's flush (sec. 4.1): DINER's regions of values, for each attribute of an input.

The victim is the input with the most rows in memory, and of it the region with the least benefit, by whichever of its
attributes: results since the last flush of that input, for each row in memory. Results are those of the whole join,
and not matches of two inputs (footnote 2). A row that leaves is in a region by each of its attributes, so what the
regions after the first let go of may be less than they hold.
"""

from collections.abc import Iterator, Sequence

from sooner.errors import InvalidJoin
from sooner.policies.flush.regions import CODES_FROM, USELESS, least_beneficial_first, scored
from sooner.policies.multi_view import EvictInput, EvictRegion, MultiEvict, MultiView


class RegionsOfAttributes:
    def choose(self, view: MultiView, needed_bytes: int) -> Iterator[Sequence[MultiEvict]]:
        if view.regions is None:
            raise InvalidJoin(
                "The flush policy RegionsOfAttributes looks at regions; give its algorithm sees='regions'."
            )
        rows, n_bytes = view.resident_rows[:, 0], view.resident_bytes[:, 0]
        victims = sorted(range(len(rows)), key=lambda which: -int(rows[which]))
        if (useless := view.useless) is not None:
            yield [EvictInput(useless, USELESS)]
            needed_bytes = max(1, needed_bytes - int(n_bytes[useless]))
            victims.remove(useless)
        for victim in victims:
            for attribute, region, benefit in least_beneficial_first(view.regions, victim):
                region_bytes = int(view.regions.rows[victim, attribute, region] * (n_bytes[victim] / rows[victim]))
                at_most_bytes = min(needed_bytes, region_bytes)
                why = scored(region, benefit)
                yield [EvictRegion(victim, attribute, at_most_bytes, CODES_FROM[region], why)]
                needed_bytes = max(1, needed_bytes - at_most_bytes)
