"""How far a join on Spark is: what its partitions said in their last version."""

from dataclasses import dataclass

from sooner.operators.progress import Progress, together
from sooner.policies.view import SIDES
from sooner.runs.versions import Versions
from sooner.spark.state_directory import open_state, partition_directory


@dataclass(frozen=True)
class JoinProgress:
    """A join after a batch."""

    batch: int
    total: Progress
    partitions: tuple[Progress, ...]
    late_rows: tuple[int, int]  # came after their side had ended, and were left out

    def __str__(self) -> str:
        return f"batch {self.batch}, {self.total}"


def read_progress(state: str, partitions: int, batch: int | None = None) -> JoinProgress | None:
    """What all partitions said after a batch, or after the newest; None if one of them did not, or its word is gone."""
    filesystem, path = open_state(state)
    all_versions = [Versions(filesystem, partition_directory(path, partition)) for partition in range(partitions)]
    if batch is None:
        batch = max(all_versions[0].published(), default=0)
    headers = []
    for versions in all_versions:
        if (header := versions.header(batch)) is None:
            return None
        headers.append(header)
    parts = tuple(Progress.from_plain(header.summary["progress"]) for header in headers)
    left, right = (sum(header.summary["late_rows"][side] for header in headers) for side in SIDES)
    return JoinProgress(batch, together(parts), parts, (left, right))
