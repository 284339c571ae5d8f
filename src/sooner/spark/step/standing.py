"""How far a join on Spark is: what its partitions said in their last version."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

import pyarrow.fs as pafs

from sooner.operators.operator import Operator
from sooner.policies.view import SETTLING, SILENT
from sooner.progress import PerInput, Progress, together
from sooner.runs.formats.versions import Header, Versions, believed
from sooner.spark.shuffle.hot_keys import HotKey, hot_keys_in
from sooner.spark.step.heavy_keys import HEAVY_KEYS, PartitionKeys, partition_keys_in
from sooner.spark.step.layout import partition_directory, root_of
from sooner.spark.step.state_directory import QUERY, open_state

# Manifests that lie far away, by Arrow's connections to S3; those at hand are read before a thread has started.
READ_TOGETHER: Final = 25


@dataclass(frozen=True)
class JoinProgress:
    """A join after a batch."""

    batch: int
    total: Progress
    partitions: tuple[Progress, ...]
    late_rows: PerInput  # came after their input had ended, or too far behind its newest, and were left out
    algorithm: str = ""  # its name; nothing if there is no choice
    hot_keys: tuple[HotKey, ...] = ()  # that are spread over all partitions

    def __str__(self) -> str:
        hot = ", ".join(f"{key.name} since batch {key.since}" for key in self.hot_keys)
        return f"batch {self.batch}, {self.total}{hot and f'; hot keys: {hot}'}"


@dataclass(frozen=True)
class Standing:
    """A join after a batch, and whether another batch has something to do although no row comes."""

    query: str
    progress: JoinProgress
    was_busy: bool  # with rows or on disk: how far it is, is news
    has_work: bool  # that the algorithm would do in silence, or of the clean-up
    is_settled: bool  # all that has arrived has met
    heavy_keys: tuple[PartitionKeys, ...] = ()  # of each partition, where hot keys are spread


def summary_of(
    operator: Operator[Any], late_rows: list[int], copied_rows: list[int], was_busy: bool, fallbacks: tuple[str, ...]
) -> dict[str, Any]:
    """What a partition says of its new version; a copy of a row has arrived elsewhere."""
    progress = operator.progress()
    arrived = tuple(rows - copies for rows, copies in zip(progress.arrived_rows, copied_rows, strict=True))
    said = replace(progress, arrived_rows=arrived, copied_rows=sum(copied_rows), fallbacks=fallbacks)
    return {
        "progress": said.to_plain(),
        "late_rows": [sum(late) for late in zip_longest(late_rows, progress.late_rows, fillvalue=0)],
        "was_busy": was_busy,
        "has_work": operator.has_work(SILENT),
        "is_settled": not operator.has_work(SETTLING),
    }


def newest_batch(state: str) -> int | None:
    """The last batch of which there is a version: by the first partition, since every batch gives one to each."""
    filesystem, path = open_state(state)
    return max(Versions(filesystem, partition_directory(root_of(filesystem, path), 0)).published(), default=None)


def read_standing(state: str, partitions: int, batch: int) -> Standing | None:
    """What all partitions said after a batch; None if one of them did not, or its word is gone."""
    headers = _headers(state, partitions, batch)
    if headers is None:
        return None
    said = [header.summary for header in headers]
    with believed(f"of batch {batch} in {state}"):
        parts = tuple(Progress.from_plain(one["progress"]) for one in said)
        late_rows = tuple(map(sum, zip(*(one["late_rows"] for one in said), strict=True)))
        return Standing(
            query=headers[0].identity[QUERY],
            progress=JoinProgress(
                batch,
                together(parts),
                parts,
                late_rows,
                headers[0].identity.get("algorithm", ""),
                hot_keys_in(said[0]),
            ),
            was_busy=any(one["was_busy"] for one in said),
            has_work=any(one["has_work"] for one in said),
            is_settled=all(one["is_settled"] for one in said),
            heavy_keys=tuple(partition_keys_in(one[HEAVY_KEYS]) for one in said if HEAVY_KEYS in one),
        )


def read_progress(state: str, partitions: int, batch: int | None = None) -> JoinProgress | None:
    """How far the join was after a batch, or after the newest; None if that is not known."""
    wanted = newest_batch(state) if batch is None else batch
    standing = None if wanted is None else read_standing(state, partitions, wanted)
    return None if standing is None else standing.progress


def _headers(state: str, partitions: int, batch: int) -> list[Header] | None:
    filesystem, path = open_state(state)
    root = root_of(filesystem, path)

    def header(partition: int) -> Header | None:
        return Versions(filesystem, partition_directory(root, partition)).header(batch)

    if isinstance(filesystem, pafs.LocalFileSystem):
        headers = [header(partition) for partition in range(partitions)]
    else:
        with ThreadPoolExecutor(min(partitions, READ_TOGETHER)) as readers:
            headers = list(readers.map(header, range(partitions)))
    found = [one for one in headers if one is not None]
    return found if len(found) == partitions else None
