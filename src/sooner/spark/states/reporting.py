"""What is in a state, and whether it is whole: for people, without a query and without Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sooner.errors import InvalidJoin, SoonerError
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_arrow
from sooner.operators.two_way.plan import INPUTS
from sooner.runs.custody.private_files import make_local_directory
from sooner.runs.formats.files import RunFiles
from sooner.sides import opposite
from sooner.spark.shuffle.hot_keys import HOT_KEYS, HotKey, WithKeys
from sooner.spark.shuffle.packing import placement_of
from sooner.spark.shuffle.placing import Placement
from sooner.spark.states.contents import Plain, RunList, UsedState, files_of, run_lists, segments_in
from sooner.spark.states.rescaling import PLACEMENTS
from sooner.spark.step.in_use import last_batch_done
from sooner.spark.step.standing import read_standing

Belonging = Callable[[pa.RecordBatch], Flags]


def described(state: str) -> list[tuple[str, str]]:
    """What is in a state: names and values."""
    used = UsedState.at(state)
    version = used.complete_version()
    told = [
        ("state", used.location),
        *((name, _in_words(value)) for name, value in used.identity.items() if _is_told(name)),
    ]
    told += [("partitions", f"{used.partitions}, by {used.tasks} tasks"), ("batches", _batches(used, version))]
    standing = None if version is None else read_standing(used.location, used.partitions, version)
    if standing is not None:
        told.append(("rows", str(standing.progress.total)))
        told += [
            (
                f"partition {number}",
                f"{_counted(one.resident_rows_by_side)} in memory, {_counted(one.spilled_rows_by_side)} on disk",
            )
            for number, one in enumerate(standing.progress.partitions)
        ]
    return told


def _is_told(name: str) -> bool:
    return name not in ("partitions", PLACEMENTS, "arrow")


def _in_words(value: object) -> str:
    return " = ".join(map(str, value)) if isinstance(value, list) else str(value)


def _counted(rows: Sequence[int]) -> str:
    return " x ".join(f"{count:,}" for count in rows)


def _batches(used: UsedState, version: int | None) -> str:
    if version is None:
        return "the first is not done in all partitions"
    done = last_batch_done(used.location)
    begun = max(max(some, default=0) for some in used.published())
    certain = "none for certain" if done is None else f"{done} for certain"
    return f"{version} in all partitions, {begun} in some; done: {certain}"


@dataclass(frozen=True)
class Checked:
    """What was looked at, and what is wrong with it: a sentence each."""

    versions: int
    files: int
    n_bytes: int
    troubles: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.versions} versions of partitions, {self.files} run files with {self.n_bytes:,} bytes of blocks"


def check(state: str) -> Checked:
    """Read every block that a version names, and compare it with its checksum."""
    used = UsedState.at(state)
    troubles: list[str] = []
    if used.complete_version() is None:
        troubles.append(f"{used.location} has no version that all of its {used.partitions} partitions have.")
    n_versions = n_bytes = 0
    seen: set[tuple[str, str, int]] = set()
    for partition, versions in enumerate(used.versions()):
        files = RunFiles(used.filesystem, used.directory(partition), pa.schema([]))
        for version in versions.published():
            n_versions += 1
            with _noted(troubles):
                header, data = versions.load(version)
                troubles += _differences(used, header.identity, partition, version)
                for segment in segments_in(data):
                    with _noted(troubles):
                        n_bytes += _checked_bytes(files, segment, used.directory(partition), seen)
    n_files = len({(directory, file) for directory, file, _ in seen})
    return Checked(n_versions, n_files, n_bytes, tuple(dict.fromkeys(troubles)))


@contextmanager
def _noted(troubles: list[str]) -> Iterator[None]:
    """What is wrong inside is one of the troubles, and no end."""
    try:
        yield
    except SoonerError as error:
        troubles.append(str(error))


def _differences(used: UsedState, identity: Plain, partition: int, version: int) -> list[str]:
    names = [name for name in used.identity if identity.get(name) != used.identity[name]]
    where = f"Version {version} of partition {partition} in {used.location}"
    return [f"{where} is of another join: its {name} is {identity.get(name)}." for name in names]


def _checked_bytes(files: RunFiles, plain: Plain, directory: str, seen: set[tuple[str, str, int]]) -> int:
    """The bytes of a segment whose blocks are whole; nothing if it was looked at before."""
    segment = files.from_plain(plain)
    blocks = segment.blocks
    place = directory, segment.file, blocks[0].offset if len(blocks) else 0
    if place in seen:
        return 0
    seen.add(place)
    return sum(len(content) for content in files.contents(segment, blocks))


def export(state: str, folder: Path) -> list[tuple[Path, int]]:
    """The rows that a join has of each side, wherever they are, as Parquet: the files, and how many rows each has."""
    used = UsedState.at(state)
    if not used.is_of_a_join:
        raise InvalidJoin(f"{used.location} is not of a join of two inputs; only rows of such are exported.")
    version = used.complete_version()
    if version is None:
        raise InvalidJoin(
            f"{used.location} has no batch that all partitions have done; there is nothing to export yet."
        )
    make_local_directory(folder)
    states = [versions.load(version)[1] for versions in used.versions()]
    return [_exported(used, states, side, folder / f"{name}.parquet") for side, name in enumerate(INPUTS)]


def _exported(used: UsedState, states: Sequence[Plain], side: int, file: Path) -> tuple[Path, int]:
    """A file has its name when it is whole; one of before goes, also if there is no row now."""
    writer, n_rows, unfinished = None, 0, file.with_suffix(".unfinished")
    try:
        for rows in _rows_of_side(used, states, side):
            writer = writer or pq.ParquetWriter(unfinished, rows.schema)
            writer.write_batch(rows)
            n_rows += rows.num_rows
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        file.unlink(missing_ok=True)
    else:
        unfinished.replace(file)
    return file, n_rows


def _rows_of_side(used: UsedState, states: Sequence[Plain], side: int) -> Iterator[pa.RecordBatch]:
    placement = _placement(used, side)
    for partition, state in enumerate(states):
        belong = None if placement is None else _belonging(placement, state, side, partition)
        for one in run_lists(state):
            if one.side == side and one.codes is not None:
                yield from _rows_in(used, one, partition, belong)


def _placement(used: UsedState, side: int) -> Placement | None:
    """By which copies are told from rows, where there can be any."""
    plain = used.identity.get(PLACEMENTS)
    placement = None if plain is None else placement_of(plain[side])
    if not isinstance(placement, Placement) or not placement.is_a_readers:
        return None
    return replace(placement, partitions=used.partitions)


def _belonging(placement: Placement, state: Plain, side: int, partition: int) -> Belonging | None:
    """Which rows of a side a partition has as its own, if it may have copies: of rows that reach beyond another
    partition, or have a key that is hot and at home elsewhere.
    """
    if placement.grid is not None:
        return lambda rows: placement.places(rows)[0] == partition
    hot = [HotKey(**one) for one in state[HOT_KEYS]["hot"]] if HOT_KEYS in state else []
    copied = [key for key in hot if key.dealt == opposite(side) and key.home != partition]
    if not copied:
        return None
    is_copy = WithKeys(copied, placement.keys, placement.types)
    return lambda rows: ~is_copy(rows)


def _rows_in(used: UsedState, one: RunList, partition: int, belong: Belonging | None) -> Iterator[pa.RecordBatch]:
    """Rows, each where it belongs."""
    assert one.codes is not None
    for plain in one.segments:
        files = files_of(used.filesystem, used.directory(partition), plain, one.rows)
        segment = files.from_plain(plain)
        for run in files.read(segment, segment.blocks):
            rows = run.between(*one.codes).rows
            if belong is not None and rows.num_rows:
                rows = rows.filter(to_arrow(np.asarray(belong(rows))))
            if rows.num_rows:
                yield rows
