"""What a version of a two-way join names, and what is said of a partition without a look at its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.fs as pafs

from sooner.errors import InvalidJoin
from sooner.runs.formats.files import RunFiles, helper_columns
from sooner.runs.formats.versions import Versions
from sooner.spark.interop.locations import inside_of
from sooner.spark.step.layout import Layout, partition_directory, read_layout
from sooner.spark.step.state_directory import location_of, open_state, stored_identity

Rows = Literal["spilled", "resident"]
Plain = dict[str, Any]


class RunList(NamedTuple):
    """Segments of one side that lie in one list of a version."""

    side: int
    rows: Rows
    segments: list[Plain]
    codes: tuple[int, int] | None  # which of their rows count: others are copies; None if they are none of the join


def run_lists(state: Plain) -> Iterator[RunList]:
    """All lists of segments in a version of a two-way join: each can be changed where it is."""
    operator = state["operator"]
    for side, one in enumerate(operator["inputs"]):
        bounds = [0, *one["bounds"], 2**64]
        for p, partition in enumerate(one["partitions"]):
            codes = bounds[p], bounds[p + 1]
            yield RunList(side, "resident", partition["resident"], codes)
            for run in partition["spilled"]:
                yield RunList(side, "spilled", run["segments"], codes)
    for task in operator["tasks"]:
        for side, written in enumerate(task.get("written", ())):
            yield RunList(side, "spilled", written, None)
    for side, held in enumerate(state.get("held", ())):
        yield RunList(side, "spilled", held["pieces"], (0, 2**64))


def segments_in(plain: Any) -> Iterator[Plain]:
    """All segments in plain data, whatever operator wrote it."""
    if isinstance(plain, dict):
        if "file" in plain and "n_rows" in plain:
            yield plain
            return
        plain = list(plain.values())
    if isinstance(plain, list):
        for one in plain:
            yield from segments_in(one)


def files_of(filesystem: pafs.FileSystem, directory: str, segment: Plain, rows: Rows) -> RunFiles:
    """The store that a segment can be read from: its file says which columns there are."""
    with filesystem.open_input_stream(f"{directory}/{segment['file']}") as file:
        schema = pa.ipc.open_stream(file).schema
    of_rows = pa.schema(list(schema)[helper_columns(rows, shares_stamps="shared" in segment) :], schema.metadata)
    return RunFiles(filesystem, directory, of_rows, rows=rows, removal="by the owner")


@dataclass(frozen=True)
class UsedState:
    """A state that a query has used."""

    location: str
    filesystem: pafs.FileSystem
    path: str
    layout: Layout
    identity: Plain

    @staticmethod
    def at(state: str) -> "UsedState":
        location = location_of(state)
        filesystem, path = open_state(location)
        identity = stored_identity(location)
        if identity is None:
            inside = inside_of(location, "join-1")
            has_parts = stored_identity(inside) is not None
            cure = f"give one of {inside} and so on" if has_parts else "give the one of ss.join"
            raise InvalidJoin(f"{location} is no state that a query has used; {cure}.")
        return UsedState(location, filesystem, path, read_layout(filesystem, path), identity)

    @property
    def partitions(self) -> int:
        return int(self.identity["partitions"])

    @property
    def tasks(self) -> int:
        return self.layout.tasks or self.partitions

    @property
    def is_of_a_join(self) -> bool:
        """Of two inputs, whose rows come out."""
        return "question" not in self.identity and {"left", "right"} <= {*self.identity}

    def directory(self, partition: int) -> str:
        return partition_directory(self.layout.root(self.path), partition)

    def versions(self) -> list[Versions]:
        """Of each partition."""
        return [Versions(self.filesystem, self.directory(partition)) for partition in range(self.partitions)]

    def published(self) -> Sequence[Sequence[int]]:
        """The versions of each partition."""
        return [versions.published() for versions in self.versions()]

    def complete_version(self) -> int | None:
        """The newest that all partitions have."""
        return max(set.intersection(*map(set, self.published())), default=None)
