"""One partition of a state becomes several: every run file is read once, block by block, and each row goes where new
rows of its key will go. Codes and stamps go with it as they are.
"""

import copy
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.errors import StateCorrupted
from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.gathering import gather
from sooner.kernels.sizes import picked, row_bytes, total_bytes
from sooner.runs.custody.private_files import make_directory
from sooner.runs.formats.files import FileBlock, RunFiles, encode_block, helper_columns
from sooner.runs.formats.saved_runs import JOINED, MATCHED, flags_from_plain, flags_to_plain
from sooner.runs.formats.versions import Header, Versions, version_prefix
from sooner.runs.run import HELPER_BYTES
from sooner.spark.shuffle.placing import Placement
from sooner.spark.states.ahead import Notes, Parts
from sooner.spark.states.contents import Plain, Rows, files_of, run_lists
from sooner.spark.states.restricting import (
    Share,
    counted_rows,
    require_divisible,
    restrict,
    restricted_summary,
)


@dataclass(frozen=True)
class Division:
    """Partition `partition` of so many, to become those of `directories`: with it and every so many after it."""

    filesystem: pafs.FileSystem
    directory: str
    partition: int
    partitions: int
    directories: Sequence[str]
    placements: Sequence[Placement]  # of the left and the right, among all partitions that there will be
    version: int
    notes: Notes  # of what was divided ahead

    def begin(self, threads: Executor) -> "Dividing":
        """Read what there is to divide, and let threads do so, file by file."""
        header, state = self._load()
        under_way = {
            file: threads.submit(self._parts_of, segments, side, rows)
            for file, (segments, side, rows) in _files_named_in(state).items()
        }
        return Dividing(self, header, state, under_way)

    def begin_ahead(self, threads: Executor) -> "DividingAhead":
        """The same of rows on disk, of which most will still be there when the query has stopped."""
        # There may have been batches since somebody looked, and versions are soon removed.
        newest = replace(self, version=Versions(self.filesystem, self.directory).published()[-1])
        _, state = newest._load()
        named = {file: told for file, told in _files_named_in(state).items() if told[2] == "spilled"}
        under_way = {file: threads.submit(newest._parts_unless_gone, *told) for file, told in named.items()}
        return DividingAhead(newest, {file: segments for file, (segments, *_) in named.items()}, under_way)

    def _load(self) -> tuple[Header, Plain]:
        """The version, if it can be divided, and room for its parts."""
        header, state = Versions(self.filesystem, self.directory).load(self.version)
        require_divisible(state, f"{self.directory} (version {self.version})")
        for directory in self.directories:
            make_directory(self.filesystem, directory)
        return header, state

    def _parts_of(self, segments: Sequence[Plain], side: int, rows: Rows) -> list[Parts]:
        known = self.notes.parts_of(segments)
        return self._divided_file(segments, side, rows) if known is None else known

    def _parts_unless_gone(self, segments: Sequence[Plain], side: int, rows: Rows) -> list[Parts] | None:
        """None if the query that is running has removed the file meanwhile."""
        try:
            return self._parts_of(segments, side, rows)
        except (FileNotFoundError, StateCorrupted):
            path = f"{self.directory}/{segments[0]['file']}"
            if self.filesystem.get_file_info(path).type == pafs.FileType.NotFound:
                return None
            raise

    def _divided_file(self, segments: Sequence[Plain], side: int, rows: Rows) -> list[Parts]:
        """The parts of each segment of a file: a file for each part, with the segments in the same order."""
        files = files_of(self.filesystem, self.directory, segments[0], rows)
        shares_stamps = "shared" in segments[0]
        of_rows = range(before := helper_columns(rows, shares_stamps=shares_stamps), before + len(files.schema))
        with ExitStack() as context:
            stores = [self._store(directory, files, rows) for directory in self.directories]
            writers = [context.enter_context(store.writer(shares_stamps=shares_stamps)) for store in stores]
            written, flags = [], []
            for plain in segments:
                segment = files.from_plain(plain)
                destinations: list[list[Positions]] = [[] for _ in stores]
                begin = 0
                for block in files.read_as_written(segment):
                    for number, (positions, encoded) in enumerate(self._divided_block(side, block, of_rows)):
                        writers[number].append(encoded)
                        destinations[number].append(positions + begin)
                    begin += block.num_rows
                written.append([writer.end_segment(segment.shared) for writer in writers])
                flags.append([_flags_at(plain, np.concatenate(of_part)) for of_part in destinations])
        return [
            [one.to_plain() | told if one.n_rows else None for one, told in zip(*both, strict=True)]
            for both in zip(written, flags, strict=True)
        ]

    def _divided_block(
        self, side: int, block: pa.RecordBatch, of_rows: Sequence[int]
    ) -> Iterator[tuple[Positions, list[FileBlock]]]:
        """Of each part, which rows it gets, and a block of them if there are any."""
        rows = block.select(of_rows)
        parts = self._destinations(side, rows)
        weights, moved, begin = row_bytes(rows) + HELPER_BYTES, gather(block, np.concatenate(parts)), 0
        for positions in parts:
            n_rows = len(positions)
            n_bytes = total_bytes(picked(weights, positions), n_rows)
            yield positions, [encode_block(moved.slice(begin, n_rows), n_bytes)] if n_rows else []
            begin += n_rows

    def _store(self, directory: str, files: RunFiles, rows: Rows) -> RunFiles:
        prefix = version_prefix(self.version)
        return RunFiles(self.filesystem, directory, files.schema, rows=rows, removal="by the owner", prefix=prefix)

    def _destinations(self, side: int, rows: pa.RecordBatch) -> list[Positions]:
        """Which rows each part gets. One that is copied may be in two; one without a key goes to the first."""
        parts = len(self.directories)
        found = []
        for places in self.placements[side].places(rows):
            number = (places - self.partition) // self.partitions  # NumPy takes several times as long for a remainder
            found.append(np.where(number * self.partitions + self.partition == places, number, -1))
        nowhere = np.logical_and.reduce([numbers < 0 for numbers in found])
        found[0][nowhere] = 0
        if len(found) == 1:
            order = np.argsort(found[0].astype(np.min_scalar_type(parts)), kind="stable")
            return np.split(order, np.cumsum(np.bincount(found[0], minlength=parts))[:-1])
        return [np.flatnonzero(np.logical_or.reduce([numbers == at for numbers in found])) for at in range(parts)]


@dataclass(frozen=True)
class Dividing:
    """A division that has begun."""

    division: Division
    header: Header
    state: Plain
    under_way: dict[str, Future[list[Parts]]]

    def finish(self) -> int:
        """Publish the version of each part. Gives the bytes that moved to another directory than the first."""
        parts = {file: future.result() for file, future in self.under_way.items()}
        directories, rows_before = self.division.directories, counted_rows(self.state)
        moved_bytes = 0
        for number, directory in enumerate(directories):
            state, share = copy.deepcopy(self.state), Share(number, len(directories))
            at = dict.fromkeys(parts, 0)
            for one in run_lists(state):
                kept = []
                for segment in one.segments:
                    part = parts[segment["file"]][at[segment["file"]]][number]
                    at[segment["file"]] += 1
                    kept += [] if part is None else [part]
                one.segments[:] = kept
                moved_bytes += sum(part["n_bytes"] for part in kept) if number else 0
            restrict(state, share, rows_before)
            self._require_own_files(state, directory)
            identity = self.header.identity | {"partitions": self.division.partitions * len(directories)}
            summary = restricted_summary(self.header.summary, state, share)
            published = replace(self.header, identity=identity, summary=summary)
            Versions(self.division.filesystem, directory).publish(published, state)
        return moved_bytes

    def _require_own_files(self, state: Plain, directory: str) -> None:
        text = str(state)
        if left := [file for file in self.under_way if file in text]:
            raise StateCorrupted(f"{directory} would name {left[0]}, which is of {self.division.directory}.")


@dataclass(frozen=True)
class DividingAhead:
    """A division that has begun although its query may be running."""

    division: Division
    segments: dict[str, list[Plain]]  # of each file
    under_way: dict[str, Future[list[Parts] | None]]

    def finish(self) -> int:
        """Note what has become of each file. Gives the bytes of their rows."""
        parts = {file: found for file, future in self.under_way.items() if (found := future.result()) is not None}
        of_files = {file: list(zip(self.segments[file], found, strict=True)) for file, found in parts.items()}
        self.division.notes.replace(of_files, self.division.version)
        return sum(segment["n_bytes"] for file in parts for segment in self.segments[file])


def _files_named_in(state: Plain) -> dict[str, tuple[list[Plain], int, Rows]]:
    """The segments of each file, whose they are, and of which rows."""
    files: dict[str, tuple[list[Plain], int, Rows]] = {}
    for one in run_lists(state):
        for segment in one.segments:
            files.setdefault(segment["file"], ([], one.side, one.rows))[0].append(segment)
    return files


def _flags_at(plain: Plain, positions: Positions) -> Plain:
    """What is told beside rows in memory, of those at these positions."""
    told: Plain = {}
    for name in (MATCHED, JOINED):
        flags: Flags = flags_from_plain(plain, name, plain["n_rows"])
        told |= flags_to_plain(name, flags[positions])
    return told
