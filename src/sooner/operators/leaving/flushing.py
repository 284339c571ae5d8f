"""Let rows leave memory: what evictions choose becomes runs on disk, one for each side and partition.

What leaves is merged and written slab by slab, so that a flush needs little memory beside what it frees. Nothing in
memory changes before all of it is safe on disk.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from sooner.budget import Account, format_bytes
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.sizes import Weights, cuts_by_bytes
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Flushed
from sooner.operators.leaving.choosing import Choice, Goes, came_after, choice_of, has_one_of
from sooner.operators.ledgers.stamps import arrivals_after
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import Workbench
from sooner.parallel import ALONE, Crew
from sooner.policies.view import Evict, EvictAll, EvictCodes, EvictSince, EvictUpTo
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import HELPER_BYTES, Run, Ticks, merge
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import EncodedBlock, RunStore, SharedStamps, SpilledRun

BYTES_WORTH_THREADS: Final = 2**22  # fewer are written faster than handed over
SAMPLES: Final = 64  # of the codes of a slab: enough to tell where the next begins


@dataclass(frozen=True)
class Departure:
    """Rows that leave one side and partition."""

    side: int
    partition: int
    going: list[Run]
    choice: Choice
    shared: SharedStamps | None  # that all of them have
    why: str


@dataclass(frozen=True)
class DepartingSlab:
    """The rows of a departure in a range of codes."""

    departure: Departure
    low: int
    high: int


def spill(state: JoinState, evictions: Sequence[Evict], bench: Workbench, crew: Crew) -> bool:
    """Write what goes, one file a side; only with the rows safe on disk does memory change. Whether anything went."""
    state.shell.advance()
    places: dict[tuple[int, int], list[Evict]] = {}
    for eviction in evictions:
        places.setdefault((eviction.input, eviction.partition), []).append(eviction)
    departures = [one for place, some in places.items() if (one := _departure(state, *place, some)) is not None]
    if not departures:
        return False
    going_bytes = sum(run.n_bytes for departure in departures for run in departure.going)
    widest = max(run.n_bytes // len(run) for departure in departures for run in departure.going)
    # Each worker has a slab, and one is being written, unless there is room for all of them at once.
    share_bytes = bench.slab_bytes // (crew.workers + 1)
    crew = crew if going_bytes >= BYTES_WORTH_THREADS and widest <= share_bytes else ALONE
    slab_bytes = going_bytes if going_bytes <= bench.slab_bytes else share_bytes
    written = _written(state, departures, slab_bytes, bench, crew)
    unseen = list(crew.in_order(lambda departure: _leave(state, departure, bench.divided(crew.workers)), departures))
    for departure, spilled, arrivals in zip(departures, written, unseen, strict=True):
        _settle(state, departure, spilled, arrivals)
    for side in sorted({departure.side for departure in departures}):
        state.renew_regions(side)
    return True


def _written(
    state: JoinState, departures: Sequence[Departure], slab_bytes: int, bench: Workbench, crew: Crew
) -> list[SpilledRun]:
    written: list[SpilledRun] = []
    slabs = [slab for departure in departures for slab in _slabs(departure, slab_bytes)]
    with ExitStack() as open_files:
        sides = sorted({departure.side for departure in departures})
        sharing = {side: all(one.shared for one in departures if one.side == side) for side in sides}
        stores = {side: state.inputs[side].store for side in sides}
        writers = {side: open_files.enter_context(stores[side].writer(shares_stamps=sharing[side])) for side in sides}

        def encoded_slab(slab: DepartingSlab) -> Sequence[EncodedBlock]:
            side = slab.departure.side
            return _encoded(stores[side], slab, sharing[side])

        for slab, encoded in zip(slabs, crew.in_order(encoded_slab, slabs), strict=True):
            bench.breathe()
            side, p = slab.departure.side, slab.departure.partition
            writers[side].append(encoded)
            if slab.high == ALL_CODES:
                number = state.inputs[side].partitions[p].new_number()
                segment = writers[side].end_segment(slab.departure.shared if sharing[side] else None)
                newest = state.newest_of(side, slab.departure.going)
                written.append(SpilledRun(number, 0, (segment,), newest))
    return written


def _departure(state: JoinState, side: int, p: int, evictions: Sequence[Evict]) -> Departure | None:
    resident = state.inputs[side].partitions[p].resident
    choice = choice_of(state, side, p, evictions) if len(resident) else Choice(None)
    chosen = (run if choice.goes is None else _only(run, choice.goes(run)) for run in resident)
    going = [
        replace(run, departed=state.shell.tick, met_disk=state.ledger.when_met_disk(side, p, run.codes), joined=None)
        for run in chosen
        if len(run)
    ]
    stamps = {(state.shell.tick, run.met_disk) if isinstance(run.met_disk, int) else None for run in going}
    shared = stamps.pop() if len(stamps) == 1 else None
    return Departure(side, p, going, choice, shared, evictions[0].why) if going else None


def _only(run: Run, wanted: Flags) -> Run:
    """These rows, sharing buffers with the run if they lie together."""
    positions = np.flatnonzero(wanted)
    if not len(positions):
        return run.slice(0, 0)
    begin, end = int(positions[0]), int(positions[-1]) + 1
    return run.slice(begin, end) if end - begin == len(positions) else run.take(positions)


def _slabs(departure: Departure, slab_bytes: int) -> Iterator[DepartingSlab]:
    """All codes, in ranges with about so many bytes; a code that has more is a range of its own."""
    for low, high in itertools.pairwise(_bounds(departure.going, slab_bytes)):
        yield DepartingSlab(departure, low, high)


def _bounds(runs: Sequence[Run], slab_bytes: int) -> list[int]:
    if sum(run.n_bytes for run in runs) <= slab_bytes:
        return [0, ALL_CODES]
    samples = [_sampled(run, slab_bytes // SAMPLES) for run in runs]
    codes, weights = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    order = np.argsort(codes)
    codes, weights = codes[order], weights[order]
    cuts = cuts_by_bytes(weights, len(codes), slab_bytes)
    firsts: Codes = codes[[begin for begin, _ in cuts]]
    alone = firsts[:-1][firsts[:-1] == firsts[1:]]  # one slab after another begins with it
    return sorted({0, ALL_CODES, *firsts[1:].tolist(), *alone.tolist(), *(code + 1 for code in alone.tolist())})


def _sampled(run: Run, sample_bytes: int) -> tuple[Codes, Weights]:
    """The codes of some rows, and what each of them weighs with the rows after it, up to the next."""
    step = max(1, len(run) * sample_bytes // run.n_bytes)
    weights = np.broadcast_to(run.row_bytes + HELPER_BYTES, len(run))
    return run.codes[::step], np.add.reduceat(weights, np.arange(0, len(run), step))


def _encoded(store: RunStore, slab: DepartingSlab, shares_stamps: bool) -> Sequence[EncodedBlock]:
    parts = [part for run in slab.departure.going if len(part := run.between(slab.low, slab.high))]
    if slab.high - slab.low == 1:  # in any order
        return [block for part in parts for block in store.encode(part, shares_stamps=shares_stamps)]
    return store.encode(merge(parts), shares_stamps=shares_stamps) if parts else []


def _leave(state: JoinState, departure: Departure, bench: Workbench) -> Ticks:
    """Rows that are safe leave memory. Gives when those of them came that no memory-disk task has seen."""
    resident = state.inputs[departure.side].partitions[departure.partition].resident
    unseen = arrivals_after((run, run.met_disk) for run in departure.going)
    departure.going.clear()  # they would keep the buffers of those that stay
    _set_clock(state, departure)
    before = resident.n_bytes
    _reduce(resident, departure.choice.goes, bench)
    state.account.release(before)
    state.account.take(resident.n_bytes)
    return unseen


def _set_clock(state: JoinState, departure: Departure) -> None:
    side, p, choice = departure.side, departure.partition, departure.choice
    if choice.hand is not None and state.statistics.regions is not None:
        state.statistics.regions.hands[side, p] = choice.hand
    for run in state.inputs[side].partitions[p].resident if len(choice.cleared) else ():
        if run.joined is not None:
            run.joined[has_one_of(choice.cleared, run)] = False


def _settle(state: JoinState, departure: Departure, spilled: SpilledRun, unseen: Ticks) -> None:
    side, p = departure.side, departure.partition
    state.count_resident(side, p)
    state.set_spilled(side, p, [*state.spilled(side, p), spilled])
    state.statistics.rows_spilled(side, p, state.shell.tick, spilled.n_rows, unseen)
    what = spilled.n_rows, spilled.n_bytes, spilled.number, departure.why
    state.shell.report(Flushed(state.shell.tick, side, p, *what))


def _reduce(resident: ResidentRuns, goes: Goes | None, bench: Workbench) -> None:
    """What stays gets buffers of its own, or nothing would get free: as one run if there is room to make it."""
    if goes is None:
        resident.clear()
        return
    staying = [part for run in resident if len(part := _only(run, ~goes(run)))]
    if len(staying) > 1 and sum(part.n_bytes for part in staying) <= bench.merge_bytes:
        resident.replace(merge(staying))
        return
    del staying
    resident.reduce(lambda run: run.take(np.flatnonzero(~goes(run))))


def freed_by(state: JoinState, eviction: Evict) -> int:
    """How many bytes of memory it would free."""
    resident = state.inputs[eviction.input].partitions[eviction.partition].resident
    match eviction:
        case EvictAll():
            return resident.n_bytes
        case EvictUpTo(at_most_bytes=at_most_bytes):
            return min(resident.n_bytes, at_most_bytes)
        case EvictCodes(codes=codes, at_most_bytes=at_most_bytes):
            chosen_bytes = _bytes_of(resident, partial(has_one_of, codes))
            return min(chosen_bytes, at_most_bytes or chosen_bytes)
        case EvictSince(tick=tick):
            return _bytes_of(resident, partial(came_after, tick))


def _bytes_of(resident: ResidentRuns, goes: Goes) -> int:
    rows = sum(int(np.count_nonzero(goes(run))) for run in resident)
    return rows * resident.n_bytes // max(resident.n_rows, 1)


def why_no_room(needed_bytes: int, account: Account, algorithm: Algorithm) -> str:
    """In a sentence that says what would help."""
    limit = format_bytes(account.share_bytes)
    if needed_bytes > account.share_bytes:
        return (
            f"{format_bytes(needed_bytes)} of rows arrived at once, but the memory for rows is {limit}; raise `memory`."
        )
    return (
        f"The memory for rows ({limit}) is full and the algorithm {algorithm.name!r} does not spill; "
        "raise `memory` or choose another algorithm, such as 'rpj'."
    )
