"""Let rows leave memory: what an eviction means, row by row, and how it becomes runs on disk."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from sooner.operators.events import Flushed
from sooner.operators.parallel import map_together
from sooner.operators.state import JoinState
from sooner.policies.view import Evict
from sooner.runs.files import EncodedBlock, SpilledRun
from sooner.runs.run import Run


@dataclass(frozen=True)
class Departure:
    """What an eviction means for one side and partition: rows that go, rows that stay, bytes that get free."""

    side: int
    partition: int
    going: Run
    encoded: list[EncodedBlock]
    staying: Run | None
    freed_bytes: int


def spill(state: JoinState, evictions: Sequence[Evict], workers: int) -> int:
    """Write what goes, one file a side; only with the rows safe on disk does memory change. Gives the bytes freed."""
    state.tick += 1
    departures = [d for d in map_together(lambda e: _departure(state, e), evictions, workers) if d is not None]
    written: list[SpilledRun] = []
    with ExitStack() as open_files:
        sides = sorted({departure.side for departure in departures})
        writers = {side: open_files.enter_context(state.files[side].writer()) for side in sides}
        for leaving in departures:
            writers[leaving.side].append(leaving.encoded)
            number = state.partitions[leaving.side][leaving.partition].new_number()
            written.append(writers[leaving.side].end_run(number))
    for leaving, spilled in zip(departures, written, strict=True):
        _settle(state, leaving, spilled)
    return sum(departure.freed_bytes for departure in departures)


def arrived_after(run: Run, tick: int) -> Run:
    """The rows that came after this tick."""
    if isinstance(run.arrived, int):
        return run if run.arrived > tick else run.slice(0, 0)
    later = run.arrived > tick
    return run if later.all() else run.take(np.flatnonzero(later))


def _departure(state: JoinState, eviction: Evict) -> Departure | None:
    partition = state.partitions[eviction.side][eviction.partition]
    everything = partition.resident.as_one()
    if everything is None:
        return None
    before = partition.resident.n_bytes
    going, staying = _split(everything, eviction)
    if staying is not None and staying.n_bytes >= before:
        going, staying = everything, None  # a bitmap that few rows needed now weighs on all: nothing was won
    if not len(going):
        return None
    going = replace(going, left_memory=state.tick, met_disk=partition.met_disk)
    freed_bytes = before - (staying.n_bytes if staying is not None else 0)
    encoded = state.files[eviction.side].encode(going)
    return Departure(eviction.side, eviction.partition, going, encoded, staying, freed_bytes)


def _settle(state: JoinState, leaving: Departure, spilled: SpilledRun) -> None:
    side, p = leaving.side, leaving.partition
    partition = state.partitions[side][p]
    partition.resident.replace(leaving.staying)
    state.budget.release(leaving.freed_bytes)
    state.count_resident(side, p)
    state.set_spilled(side, p, [*partition.spilled, spilled])
    unseen = arrived_after(leaving.going, partition.met_disk)
    state.statistics.rows_spilled(side, p, state.tick, leaving.going, unseen)
    state.report(Flushed(state.tick, side, p, spilled.n_rows, spilled.n_bytes))


def _split(run: Run, eviction: Evict) -> tuple[Run, Run | None]:
    """The rows that an eviction means, and the others, each in buffers of their own. No code is ever split by size."""
    if eviction.codes is not None:
        going = np.isin(run.codes, eviction.codes)
    elif eviction.at_most_bytes is not None and eviction.at_most_bytes < run.n_bytes:
        wanted_rows = max(1, -(-eviction.at_most_bytes * len(run) // run.n_bytes))
        going = run.codes <= run.codes[wanted_rows - 1]
    else:
        return run, None
    if going.all():
        return run, None
    return run.take(np.flatnonzero(going)), run.take(np.flatnonzero(~going))
