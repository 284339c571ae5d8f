"""More or fewer tasks for a state that is there.

A task can do the steps of several partitions, so for fewer tasks nothing moves. For more, each partition is divided:
those of a row are its hash modulo their number, so that the parts of a partition are those partitions of a multiple of
that number which have its remainder. The parts are written beside what is there, as a generation of their own, and one
small file is replaced to make it count. So whoever is killed before that leaves the state as it was, and after that as
it is to be.

A batch that is not done for certain is no time to divide: what came out of it went to the sink, perhaps, and other
partitions would give some of it in another batch. If some partition lacks its version it is not done, and runs again
from the version before, which all have.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import pyarrow.fs as pafs

from sooner.errors import InvalidJoin
from sooner.fallbacks import LOG
from sooner.runs.custody.private_files import make_directory
from sooner.runs.formats.versions import leave_to_later_releases
from sooner.spark.shuffle.packing import placement_of
from sooner.spark.shuffle.placing import Placement
from sooner.spark.states.ahead import Notes
from sooner.spark.states.contents import UsedState
from sooner.spark.states.dividing import Division
from sooner.spark.step.in_use import alone, last_batch_done
from sooner.spark.step.layout import (
    GENERATION,
    PARTITION,
    Layout,
    enough_partitions,
    partition_directory,
    put_layout,
)

PLACEMENTS: Final = "placements"  # in the identity of a join: how its rows find their partition


@dataclass(frozen=True)
class Rescaled:
    """What a state has now."""

    location: str
    tasks: int
    partitions: int
    partitions_before: int
    moved_bytes: int = 0

    def __str__(self) -> str:
        if self.partitions == self.partitions_before:
            return f"{self.tasks} tasks do the {self.partitions} partitions of {self.location}; no row had to move"
        divided = f"{self.partitions_before} partitions of {self.location} became {self.partitions}"
        return f"{divided}, for {self.tasks} tasks; {self.moved_bytes:,} bytes of rows moved"


@dataclass(frozen=True)
class DividedAhead:
    """What need not be done any more when a state is rescaled."""

    location: str
    tasks: int
    n_bytes: int

    def __str__(self) -> str:
        if not self.n_bytes:
            return f"nothing on disk in {self.location} has to be divided for {self.tasks} tasks"
        divided = f"{self.n_bytes:,} bytes of rows in {self.location} are divided for {self.tasks} tasks"
        return f"{divided}; now stop the query, and rescale"


def rescale(state: str, tasks: int, placements: Sequence[Placement] | None = None) -> Rescaled:
    """Let so many tasks join what is in a state, from the next start of its query on.

    `placements` are those of the join, where they are known; a state that this release has used tells them itself.
    """
    used = UsedState.at(state)
    partitions = enough_partitions(used.partitions, tasks)
    if partitions == used.partitions:
        done = Rescaled(used.location, tasks, partitions, partitions)
        if tasks == used.tasks:
            return done
        put_layout(used.filesystem, used.path, replace(used.layout, tasks=tasks))
    else:
        placed = _placements(used, partitions, placements)
        with alone(used.location):
            moved_bytes = _divide(used, partitions, tasks, placed)
        done = Rescaled(used.location, tasks, partitions, used.partitions, moved_bytes)
    LOG.info("%s.", done)
    return done


def divide_ahead(state: str, tasks: int) -> DividedAhead:
    """Divide what is on disk for so many tasks while the query still runs, so that it stands still for less long."""
    used = UsedState.at(state)
    partitions = enough_partitions(used.partitions, tasks)
    n_bytes = 0
    if partitions != used.partitions:
        version = used.complete_version()
        if version is None:
            raise InvalidJoin(
                f"No batch in {used.location} is done yet, so there is nothing to divide: try again later."
            )
        divisions = _divisions(used, partitions, _placements(used, partitions, None), version)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            dividing = [division.begin_ahead(threads) for division in divisions]
            n_bytes = sum(one.finish() for one in dividing)
    done = DividedAhead(used.location, tasks, n_bytes)
    LOG.info("%s.", done)
    return done


def _placements(used: UsedState, partitions: int, known: Sequence[Placement] | None) -> list[Placement]:
    """How rows will be placed; refused by name where they cannot be."""
    what = f"{used.location} has {used.partitions} partitions, too few for that, and cannot be divided"
    cure = f"give {used.partitions} or fewer, or start anew with another checkpoint and state"
    if not used.is_of_a_join:
        whose = "an estimate" if "question" in used.identity else "an enrichment" if "master" in used.identity else None
        raise InvalidJoin(f"{what}, since it is of {whose or 'a join of many inputs'}: {cure}.")
    plain = used.identity.get(PLACEMENTS)
    if known is None and plain is None:
        raise InvalidJoin(
            f"{what} before a query of this release has used it: give partitions= to ss.join instead, or start the "
            "query once as it is."
        )
    placed = [placement_of(one) for one in plain or ()] if known is None else known
    found = [replace(one, partitions=partitions) for one in placed if isinstance(one, Placement)]
    if not all(one.is_a_readers for one in found):
        types = ", ".join(map(str, found[0].types))
        raise InvalidJoin(f"{what}, since its keys of {types} are placed by Spark alone: {cure}.")
    return found


def _divide(used: UsedState, partitions: int, tasks: int, placements: Sequence[Placement]) -> int:
    """Write the next generation and let it count. Gives the bytes that moved."""
    version = _version_to_divide(used)
    before = used.published()
    layout = Layout(used.layout.generation + 1, tasks)
    divisions = _divisions(used, partitions, placements, version)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        dividing = [division.begin(threads) for division in divisions]
        moved_bytes = sum(one.finish() for one in dividing)
    if used.published() != before:
        raise InvalidJoin(f"A query is running with the state {used.location}: stop it first, then rescale.")
    put_layout(used.filesystem, used.path, layout)
    remove_leftovers(replace(used, layout=layout))
    for division in divisions:
        division.notes.remove()
    return moved_bytes


def _divisions(used: UsedState, partitions: int, placements: Sequence[Placement], version: int) -> list[Division]:
    """Of each partition, into the next generation: what is there of it stays if it was divided ahead."""
    root = replace(used.layout, generation=used.layout.generation + 1).root(used.path)
    notes = [Notes.read(used.filesystem, root, partition, placements) for partition in range(used.partitions)]
    remove_leftovers(used, *([root] if any(one.of_files for one in notes) else []))
    make_directory(used.filesystem, root)
    return [
        Division(
            used.filesystem,
            used.directory(partition),
            partition,
            used.partitions,
            [partition_directory(root, part) for part in range(partition, partitions, used.partitions)],
            placements,
            version,
            notes[partition],
        )
        for partition in range(used.partitions)
    ]


def _version_to_divide(used: UsedState) -> int:
    """The version of the last batch that is done for certain; refused where none is."""
    version = used.complete_version()
    if version is not None:
        is_done = any(max(some) > version for some in used.published()) or last_batch_done(used.location) == version
        if is_done:
            return version
    raise InvalidJoin(
        f"Whether the last batch in {used.location} is done is not known: start the query with the {used.tasks} "
        "partitions that it has, let a batch end, stop it and try again."
    )


def remove_leftovers(used: UsedState, *also_kept: str) -> None:
    """All that is of other generations: one that counted before, or one that somebody was killed amid."""
    filesystem, layout = used.filesystem, used.layout
    inside = filesystem.get_file_info(pafs.FileSelector(used.path, allow_not_found=True))
    kept, first = layout.root(used.path), partition_directory(used.path, 0)
    if layout.generation:
        make_directory(filesystem, first)
        leave_to_later_releases(filesystem, first)
    of_others = (GENERATION, PARTITION) if layout.generation else (GENERATION,)
    for info in inside:
        is_other = info.base_name.startswith(of_others) and info.path not in (kept, first, *also_kept)
        if is_other and info.type == pafs.FileType.Directory:
            filesystem.delete_dir(info.path)
