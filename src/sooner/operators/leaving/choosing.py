"""What evictions mean for the rows in memory of one side and partition: which rows of each run go.

No code is split by size, unless the algorithm says so: then of the last one those rows go first that came first. Rows
of one code that came together are never parted, for nothing could say which of them should go.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Flags
from sooner.operators.state.state import JoinState
from sooner.operators.statistics.regions import RegionStatistics, go_round, join_bits_by_code
from sooner.policies.view import Evict, EvictCodes, EvictSince, EvictUpTo
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import NEVER, Run

Goes = Callable[[Run], Flags]  # which rows of a run


NO_CODE: Final = np.empty(0, np.uint64)


class Choice(NamedTuple):
    goes: Goes | None  # None: all rows
    cleared: Codes = NO_CODE  # whose join bits are cleared: the clock has passed them, or of one only some rows go
    hand: int | None = None  # of the clock, if it was asked


def choice_of(state: JoinState, side: int, p: int, evictions: Sequence[Evict]) -> Choice:
    """Of all evictions of this side and partition together."""
    resident = state.inputs[side].partitions[p].resident
    regions = state.statistics.regions
    choices = [choice_among(resident, eviction, regions, splits_codes=state.splits_codes) for eviction in evictions]
    if len(choices) == 1:
        return choices[0]
    all_go = any(choice.goes is None for choice in choices)
    goes = None if all_go else partial(_goes_by_any, [choice.goes for choice in choices if choice.goes is not None])
    hand = next((choice.hand for choice in choices if choice.hand is not None), None)
    return Choice(goes, np.concatenate([choice.cleared for choice in choices]), hand)


def choice_among(
    resident: ResidentRuns, eviction: Evict, regions: RegionStatistics | None, *, splits_codes: bool
) -> Choice:
    """Of one eviction of these rows."""
    match eviction:
        case EvictSince(tick=tick):
            return Choice(partial(came_after, tick))
        case EvictCodes(codes=codes, at_most_bytes=at_most_bytes):
            if at_most_bytes is None or not splits_codes:
                return Choice(partial(has_one_of, codes))
            [code] = codes
            return Choice(_oldest(resident, code, _rows_in(resident, at_most_bytes)), codes)
        case EvictUpTo(codes_from="the clock's hand"):
            if regions is None:
                raise InvalidJoin("An eviction by the clock needs join bits; give the Algorithm sees='regions'.")
            return _by_clock(resident, eviction, regions, splits_codes)
        case EvictUpTo(at_most_bytes=at_most_bytes) if at_most_bytes < resident.n_bytes:
            return _from_one_end(resident, eviction, splits_codes)
    return Choice(None)


def came_after(tick: int, run: Run) -> Flags:
    return np.broadcast_to(np.asarray(run.arrived) > tick, len(run))


def has_one_of(codes: Codes, run: Run) -> Flags:
    return np.isin(run.codes, codes)


def _from_one_end(resident: ResidentRuns, eviction: EvictUpTo, splits_codes: bool) -> Choice:
    codes, rows = np.concatenate([run.codes for run in resident]), _rows_in(resident, eviction.at_most_bytes)
    from_above = eviction.codes_from == "highest"
    at = len(codes) - rows if from_above else rows - 1
    last = np.partition(codes, at)[at]
    if not splits_codes:
        return Choice((lambda run: run.codes >= last) if from_above else (lambda run: run.codes <= last))
    whole: Goes = (lambda run: run.codes > last) if from_above else (lambda run: run.codes < last)
    before_last = np.count_nonzero(codes > last if from_above else codes < last)
    goes = partial(_goes_by_any, (whole, _oldest(resident, last, rows - int(before_last))))
    return Choice(goes, np.array([last]))


def _by_clock(resident: ResidentRuns, eviction: EvictUpTo, regions: RegionStatistics, splits_codes: bool) -> Choice:
    """The rows of the middle region over which the clock's hand moves (DINER sec. 3.3)."""
    first, last = regions.bounds[eviction.input, eviction.partition].tolist()
    middle = [part for run in resident if len(part := run.between(first, last + 1))]
    codes = np.concatenate([NO_CODE, *(part.codes for part in middle)])
    bits = [np.zeros(len(part), np.bool_) if part.joined is None else part.joined for part in middle]
    by_code = join_bits_by_code(codes, np.concatenate([np.empty(0, np.bool_), *bits]))
    hand = int(regions.hands[eviction.input, eviction.partition])
    found = go_round(*by_code, hand, _rows_in(resident, eviction.at_most_bytes))
    if not splits_codes:
        return Choice(partial(has_one_of, found.going), found.passed, found.next_code)
    oldest = _oldest(resident, np.uint64(found.last), found.last_rows)
    some_stay = any((oldest(run) != (run.codes == found.last)).any() for run in resident)
    goes = partial(_goes_by_any, (partial(has_one_of, found.going[found.going != found.last]), oldest))
    return Choice(goes, found.passed, found.last if some_stay else found.next_code)


def _oldest(resident: ResidentRuns, code: np.uint64, rows: int) -> Goes:
    """The first so many rows of this code that came, and those that came with the last of them."""
    parts = [run.between(int(code), int(code) + 1) for run in resident]
    arrived = np.concatenate([np.broadcast_to(np.asarray(part.arrived), len(part)) for part in parts])
    rows = min(rows, len(arrived))
    until = np.partition(arrived, rows - 1)[rows - 1] if rows else NEVER
    return lambda run: (run.codes == code) & (np.asarray(run.arrived) <= until)


def _goes_by_any(choices: Sequence[Goes], run: Run) -> Flags:
    any_of_them: Flags = np.logical_or.reduce([goes(run) for goes in choices])
    return any_of_them


def _rows_in(resident: ResidentRuns, n_bytes: int) -> int:
    return max(1, -(-n_bytes * resident.n_rows // resident.n_bytes))
