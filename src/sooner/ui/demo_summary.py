"""What the demo says in the end: when the results were there, and whether they are right."""

from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table

from sooner.budget import format_bytes
from sooner.ui.watching import Watch

MARKS: Final = (0.01, 0.1, 0.5, 1.0)


@dataclass(frozen=True)
class BatchJoin:
    """Spark's own join of all rows, once they are there."""

    seconds: float
    same: bool  # gives the same answer


def summarise(console: Console, watch: Watch, last_arrival: float, batch_join: BatchJoin) -> None:
    """Seconds are counted from when the sources started to give rows."""
    milestones = watch.milestones
    table = Table(
        title="When the results were there", title_justify="left", min_width=40, box=None, padding=(0, 3, 0, 0)
    )
    table.add_column("results", justify="right")
    table.add_column("after", justify="right")
    table.add_row("first", _seconds(milestones.first()))
    for mark in MARKS:
        table.add_row(f"{mark:.0%}", _seconds(milestones.reached(mark)))
    console.print()
    console.print(table)
    console.print(
        f"\nThe last row arrived after {_seconds(last_arrival)}. A join that waits for it has nothing before; "
        f"Spark's batch join then takes {_seconds(batch_join.seconds)}.",
        soft_wrap=True,
    )
    console.print(
        f"At most {format_bytes(watch.peak_bytes)} of rows were in memory, "
        f"and {format_bytes(watch.spilled_bytes)} on disk only.",
        soft_wrap=True,
    )
    verdict = "[green]the same[/green]" if batch_join.same else "[red]NOT the same[/red]"
    console.print(
        f"The answer is {verdict} as that of Spark's batch join, by count and checksum: {milestones.total:,} rows.",
        soft_wrap=True,
    )


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"
