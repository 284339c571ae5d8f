"""How far a join is: plain numbers. Asked in the middle of a step, some may be a little newer than others."""

from dataclasses import dataclass
from typing import Any

from sooner.budget import format_bytes
from sooner.operators.phases import Phase
from sooner.operators.two_way import TwoWayJoin


@dataclass(frozen=True)
class Progress:
    phase: Phase
    arrived_rows: tuple[int, int]
    resident_rows: int
    resident_bytes: int
    peak_bytes: int
    spilled_rows: int
    spilled_bytes: int
    results: int
    covered_fraction: float  # of the rectangle of rows that have arrived

    def __str__(self) -> str:
        left, right = self.arrived_rows
        return (
            f"{self.phase}: {left:,} x {right:,} rows arrived, {self.covered_fraction:.1%} of their pairs covered, "
            f"{self.results:,} results, {format_bytes(self.resident_bytes)} in memory, "
            f"{format_bytes(self.spilled_bytes)} spilled"
        )


def progress_of(join: TwoWayJoin[Any]) -> Progress:
    statistics = join.statistics
    left, right = statistics.received_rows.tolist()
    return Progress(
        phase=join.phase,
        arrived_rows=(left, right),
        resident_rows=int(statistics.resident_rows.sum()),
        resident_bytes=join.budget.used_bytes,
        peak_bytes=join.budget.peak_bytes,
        spilled_rows=int(statistics.spilled_rows.sum()),
        spilled_bytes=int(statistics.spilled_bytes.sum()),
        results=statistics.results,
        covered_fraction=statistics.covered_fraction,
    )
