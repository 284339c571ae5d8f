"""Which keys are to be spread over all partitions: a pure function of what the partitions have committed."""

from collections.abc import Iterator
from typing import Any, Final

from sooner.sides import SIDES, opposite
from sooner.spark.step.heavy_keys import HeavyKey
from sooner.spark.step.standing import Standing

OF_FAIR_SHARE: Final = 4  # a key is hot if it has one part in so many of what each partition would have of all rows
LEAST_ROWS: Final = 2**12  # of a hot key: fewer are no burden
MOST_KEYS: Final = 32  # that are spread: each row of a side is compared with all of them


def newly_hot(standing: Standing, spreads: tuple[int, ...], ended: int) -> list[dict[str, Any]]:
    """Keys that are hot and were not, as a pulse says them. `spreads` are the sides whose rows may be dealt out, and
    `ended` has a bit for each side that has no more.
    """
    known = {key.code for key in standing.progress.hot_keys}
    partitions = len(standing.heavy_keys)
    seen = [sum(one.seen[side] for one in standing.heavy_keys) for side in SIDES]
    found = []
    for home, key in _by_rows(standing):
        is_heavy = key.rows >= LEAST_ROWS and key.rows * OF_FAIR_SHARE * partitions >= seen[key.side]
        may_be_dealt = key.code not in known and key.side in spreads and not ended >> key.side & 1
        if is_heavy and may_be_dealt and key.rows >= _rows_of_other_side(standing, home, key):
            where = {"dealt": key.side, "home": home, "partitions": partitions}
            found.append({"key": key.key, "name": key.name, "code": key.code, **where})
            known.add(key.code)
    return found[: max(MOST_KEYS - len(standing.progress.hot_keys), 0)]


def _by_rows(standing: Standing) -> Iterator[tuple[int, HeavyKey]]:
    """Keys of all partitions, the heaviest first, and their homes."""
    keys = [(home, key) for home, one in enumerate(standing.heavy_keys) for key in one.found]
    return iter(sorted(keys, key=lambda of: (-of[1].rows, of[1].code, of[1].side)))


def _rows_of_other_side(standing: Standing, home: int, key: HeavyKey) -> int:
    """These would be copied to all partitions."""
    others = standing.heavy_keys[home].found
    return sum(one.rows for one in others if one.code == key.code and one.side == opposite(key.side))
