"""Flush from the region of values that joins least: DINER's flushing policy (DINER sec. 3.3, Algorithms 2 and 3).

The codes of a side are in three regions: lower, middle and upper; each of the outer ones has about as many rows as
leave at a time. The victim is the side with more rows in memory, and of it the region with the least benefit: results
since the last flush of that side, for each row in memory. The lower region goes from its lowest code up, the upper one
from its highest down, and the middle by the clock algorithm, rows that joined nothing lately first. If that is not
enough, the region with the next benefit follows.

Rows of the last input that has not ended meet nothing more that comes, and go first (footnote 1). What is to be
remembered from flush to flush (where regions begin, joins, the clock's hand) is in the operator's statistics.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from sooner.errors import InvalidJoin
from sooner.policies.flush.order import evict_partition
from sooner.policies.view import LOWER, MIDDLE, REGIONS, UPPER, CodesFrom, EvictUpTo, JoinView, RegionsView, Together

USELESS: Final = "nothing comes any more that they could match"
CODES_FROM: Final[Mapping[int, CodesFrom]] = {LOWER: "lowest", MIDDLE: "the clock's hand", UPPER: "highest"}
REGION_NAMES: Final[Mapping[int, str]] = {LOWER: "lowest", MIDDLE: "middle", UPPER: "highest"}
PREFERENCE: Final = np.array([(UPPER, LOWER, MIDDLE).index(region) for region in REGIONS])  # where benefits are equal


class Regions:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterator[Together]:
        if view.regions is None:
            raise InvalidJoin("The flush policy Regions looks at regions; give its Algorithm sees='regions'.")
        inputs, partitions = map(range, view.resident_rows.shape)
        victims = sorted(inputs, key=lambda which: -int(view.resident_rows[which].sum()))
        if view.ended.count(False) == 1:
            useless = view.ended.index(False)
            yield from (evict_partition(view, p, (useless,), USELESS) for p in partitions)
            needed_bytes = max(1, needed_bytes - int(view.resident_bytes[useless].sum()))
            victims.remove(useless)
        for victim in victims:
            for partition, region, benefit in least_beneficial_first(view.regions, victim):
                row_bytes = view.resident_bytes[victim, partition] / view.resident_rows[victim, partition]
                region_bytes = int(view.regions.rows[victim, partition, region] * row_bytes)
                at_most_bytes = min(needed_bytes, region_bytes)
                why = scored(region, benefit)
                yield [EvictUpTo(victim, partition, at_most_bytes, CODES_FROM[region], why=why)]
                needed_bytes = max(1, needed_bytes - at_most_bytes)


def least_beneficial_first(regions: RegionsView, which: int) -> Iterator[tuple[int, int, float]]:
    """The regions of an input that have any rows: partition, region and benefit."""
    rows = regions.rows[which]
    benefits = regions.joins[which] / np.maximum(rows, 1)
    preference = np.broadcast_to(PREFERENCE, rows.shape)
    for place in np.lexsort((preference.ravel(), benefits.ravel())).tolist():
        partition, region = divmod(place, len(REGIONS))
        if rows[partition, region]:
            yield partition, region, float(benefits[partition, region])


def scored(region: int, benefit: float) -> str:
    """Why a region leaves, in words."""
    return f"the {REGION_NAMES[region]} values, with {benefit:.2g} results a row since the last flush"
