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


def read_progress(state: str, partitions: int, batch: int) -> JoinProgress | None:
    """What all partitions said after a batch; None if that is not there, or not there any more."""
    filesystem, path = open_state(state)
    headers = []
    for partition in range(partitions):
        header = Versions(filesystem, partition_directory(path, partition)).header(batch)
        if header is None:
            return None
        headers.append(header)
    parts = tuple(Progress.from_plain(header.summary["progress"]) for header in headers)
    left, right = (sum(header.summary["late_rows"][side] for header in headers) for side in SIDES)
    return JoinProgress(batch, together(parts), parts, (left, right))
