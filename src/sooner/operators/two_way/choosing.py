"""What evictions mean for the rows in memory of one side and partition: which rows of each run go.

No code is ever split: it goes as a whole, or it stays.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Flags
from sooner.operators.two_way.regions import RegionStatistics, Round, go_round, join_bits_by_code
from sooner.operators.two_way.state import JoinState
from sooner.policies.view import Evict
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import Run

Goes = Callable[[Run], Flags]  # which rows of a run


class Choice(NamedTuple):
    goes: Goes | None  # None: all rows
    round: Round | None = None  # of the clock, if it was asked


def choice_of(state: JoinState, side: int, p: int, evictions: Sequence[Evict]) -> Choice:
    """Of all evictions of this side and partition together."""
    resident, round_ = state.inputs[side].partitions[p].resident, None
    choices: list[Goes] = []
    for eviction in evictions:
        if eviction.codes_from == "the clock's hand":
            round_ = _clock_round(resident, state.statistics.regions, eviction)
            choices.append(partial(has_one_of, round_.going))
        elif (goes := _by_codes(resident, eviction)) is not None:
            choices.append(goes)
        else:
            return Choice(None)
    return Choice(choices[0] if len(choices) == 1 else partial(_goes_by_any, choices), round_)


def has_one_of(codes: Codes, run: Run) -> Flags:
    return np.isin(run.codes, codes)


def _goes_by_any(choices: Sequence[Goes], run: Run) -> Flags:
    any_of_them: Flags = np.logical_or.reduce([goes(run) for goes in choices])
    return any_of_them


def _by_codes(resident: ResidentRuns, eviction: Evict) -> Goes | None:
    if eviction.codes is not None:
        return partial(has_one_of, eviction.codes)
    if eviction.at_most_bytes is None or eviction.at_most_bytes >= resident.n_bytes:
        return None
    wanted_rows = _wanted_rows(resident, eviction.at_most_bytes)
    codes = np.concatenate([run.codes for run in resident])
    if eviction.codes_from == "highest":
        first_code = np.partition(codes, len(codes) - wanted_rows)[len(codes) - wanted_rows]
        return lambda run: run.codes >= first_code
    last_code = np.partition(codes, wanted_rows - 1)[wanted_rows - 1]
    return lambda run: run.codes <= last_code


def _clock_round(resident: ResidentRuns, regions: RegionStatistics | None, eviction: Evict) -> Round:
    """The rows of the middle region over which the clock's hand moves (DINER sec. 3.3)."""
    if regions is None:
        raise InvalidJoin("An eviction by the clock needs join bits; give the Algorithm sees='regions'.")
    first, last = regions.bounds[eviction.side, eviction.partition].tolist()
    middle = [part for run in resident if len(part := run.between(first, last + 1))]
    codes = np.concatenate([np.empty(0, np.uint64), *(part.codes for part in middle)])
    bits = [np.zeros(len(part), np.bool_) if part.joined is None else part.joined for part in middle]
    by_code = join_bits_by_code(codes, np.concatenate([np.empty(0, np.bool_), *bits]))
    at_most_bytes = resident.n_bytes if eviction.at_most_bytes is None else eviction.at_most_bytes
    hand = int(regions.hands[eviction.side, eviction.partition])
    return go_round(*by_code, hand, _wanted_rows(resident, at_most_bytes))


def _wanted_rows(resident: ResidentRuns, at_most_bytes: int) -> int:
    return max(1, -(-at_most_bytes * resident.n_rows // resident.n_bytes))
