"""What an operator knows about its inputs, kept up to date by addition and subtraction only. Arrays are indexed
[input, partition] or [input].
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from sooner.budget import Account
from sooner.phases import Phase
from sooner.progress import Progress
from sooner.runs.store import RunOnDisk, counted

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

DECAY: Final = 0.5
UNIT_SECONDS: Final = 1.0


class Statistics:
    SAVED: ClassVar[tuple[str, ...]] = (
        "received_rows",
        "arrived_rows",
        "resident_rows",
        "resident_bytes",
        "spilled_rows",
        "spilled_bytes",
        "spilled_runs",
        "forgotten_rows",
    )

    def __init__(self, inputs: int, partitions: int) -> None:
        shape = (inputs, partitions)
        self.received_rows = np.zeros(inputs, np.int64)  # with those whose null keys can match nothing
        self.arrived_rows = np.zeros(shape, np.int64)
        self.resident_rows = np.zeros(shape, np.int64)
        self.resident_bytes = np.zeros(shape, np.int64)
        self.spilled_rows = np.zeros(shape, np.int64)
        self.spilled_bytes = np.zeros(shape, np.int64)
        self.spilled_runs = np.zeros(shape, np.int64)
        self.forgotten_rows = np.zeros(shape, np.int64)  # that nobody needs any more
        self.recent = RecentArrivals(inputs, DECAY, UNIT_SECONDS)
        self.results = 0

    def rows_received(self, which: int, rows: int, now: float) -> None:
        self.received_rows[which] += rows
        self.recent.add(which, rows, now)

    def count_resident(self, which: int, partition: int, rows: int, n_bytes: int) -> None:
        """Follow what is in memory of one partition of an input."""
        self.resident_rows[which, partition] = rows
        self.resident_bytes[which, partition] = n_bytes

    def count_spilled(self, which: int, partition: int, runs: Sequence[RunOnDisk]) -> None:
        """Follow what is on disk of one partition of an input."""
        self.spilled_runs[which, partition] = len(runs)
        self.spilled_rows[which, partition] = sum(run.n_rows for run in runs)
        self.spilled_bytes[which, partition] = sum(run.n_bytes for run in runs)

    def add_spilled(self, which: int, partition: int, run: RunOnDisk) -> None:
        """One more run is on disk: those before it, which may be thousands, need not be counted again."""
        self.spilled_runs[which, partition] += 1
        self.spilled_rows[which, partition] += run.n_rows
        self.spilled_bytes[which, partition] += run.n_bytes

    def progress(self, phase: Phase, account: Account, arrived_pairs: float, covered_pairs: float) -> Progress:
        """What people see of it, beside what the operator itself knows."""
        return Progress(
            phase=phase,
            arrived_rows=tuple(self.received_rows.tolist()),
            resident_rows_by_side=tuple(self.resident_rows.sum(axis=1).tolist()),
            resident_bytes=account.used_bytes,
            peak_bytes=account.peak_bytes,
            spilled_rows_by_side=tuple(self.spilled_rows.sum(axis=1).tolist()),
            spilled_bytes=int(self.spilled_bytes.sum()),
            forgotten_rows_by_side=tuple(self.forgotten_rows.sum(axis=1).tolist()),
            results=self.results,
            arrived_pairs=arrived_pairs,
            covered_pairs=covered_pairs,
        )

    def to_plain(self) -> dict[str, Any]:
        saved = {name: getattr(self, name).tolist() for name in self.SAVED}
        return {**saved, "recent": self.recent.to_plain(), "results": self.results}

    def load_plain(self, data: dict[str, Any]) -> None:
        for name in self.SAVED:
            counts = getattr(self, name)
            counts[...] = data[name]
            if not (counts > -1).all():  # NaN is not either; pairs may be a rounding error below nothing
                raise ValueError(f"{name} were counted, and are {data[name]}")
        self.recent.load_plain(data["recent"])
        self.results = counted(data["results"])


class RecentArrivals:
    """Rows of each input that came lately: counted per time unit, with exponential decay (RPJ sec. 4.2)."""

    def __init__(self, inputs: int, decay: float, unit_seconds: float) -> None:
        self._decay = decay
        self._unit_seconds = unit_seconds
        self._unit = 0
        self._in_unit = np.zeros(inputs)
        self._settled: Numbers | None = None  # until the first unit is over, its count is all there is

    def add(self, which: int, rows: int, now: float) -> None:
        self._turn_to(int(now / self._unit_seconds))
        self._in_unit[which] += rows

    @property
    def rows(self) -> Numbers:
        return self._in_unit.copy() if self._settled is None else self._settled.copy()

    def _turn_to(self, unit: int) -> None:
        if unit <= self._unit:
            return
        settled = self._in_unit if self._settled is None else self._blend(self._settled, self._in_unit)
        self._settled = settled * self._decay ** (unit - self._unit - 1)  # units in which nothing came
        self._in_unit = np.zeros_like(self._in_unit)
        self._unit = unit

    def _blend(self, old: Numbers, new: Numbers) -> Numbers:
        return self._decay * old + (1 - self._decay) * new

    def to_plain(self) -> list[Any]:
        settled = None if self._settled is None else self._settled.tolist()
        return [self._unit, self._in_unit.tolist(), settled]

    def load_plain(self, data: list[Any]) -> None:
        self._unit, in_unit, settled = data
        self._in_unit = np.array(in_unit)
        self._settled = None if settled is None else np.array(settled)


def read_only(array: npt.NDArray[Any]) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
