"""What the demo says in the end: when the results were there, whether they are right, and what to try next."""

from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from sooner.budget import format_bytes
from sooner.ui.demo_estimate import PERCENT, EarlyAnswer
from sooner.ui.demo_restart import Restart
from sooner.ui.watching import Watch

MARKS: Final = (0.01, 0.1, 0.5, 1.0)
YOUR_TURN: Final = """\nOn your own files, in process or in SQL, from a shell or in Python:
  sooner join orders.parquet customers.csv --on customer -o joined.parquet --dashboard
  sooner sql "SELECT name, SUM(cents) FROM 'orders.parquet' JOIN 'customers.csv' USING (customer) GROUP BY name"
  python -c "import sooner; print(sooner.join('orders.parquet', 'customers.csv', on='customer').head(10))"
(`sooner examples` makes such files.)"""


@dataclass(frozen=True)
class BatchJoin:
    """Spark's own join of all rows, once they are there."""

    seconds: float
    answer: Any  # its count and checksum


@dataclass(frozen=True)
class Outcome:
    """Beside what was watched; seconds are since the first row came."""

    last_arrival: float
    batch_join: BatchJoin
    written: Any  # count and checksum of what the query wrote
    early: EarlyAnswer

    @property
    def right(self) -> bool:
        """The query wrote what the batch join gives."""
        return bool(self.written == self.batch_join.answer)

    @property
    def batch_end(self) -> float:
        """When a join that waits for the last row has its answer."""
        return self.last_arrival + self.batch_join.seconds


def summarise(console: Console, watch: Watch, outcome: Outcome) -> None:
    """Seconds are counted from when the sources started to give rows."""
    milestones, early = watch.milestones, outcome.early
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
    for said in (
        f"\nThe last row arrived after {_seconds(outcome.last_arrival)}. A join that waits for it has nothing before; "
        f"Spark's batch join then takes {_seconds(outcome.batch_join.seconds)}.",
        f"The revenue of all lines was known to {PERCENT:.0%} after {_seconds(early.seconds)}, with "
        f"{early.share_read:.0%} of the rows: {early.value:,.0f} ± {early.half_interval:,.0f}.",
        f"At most {format_bytes(watch.peak_bytes)} of rows were in memory, "
        f"and {format_bytes(watch.spilled_bytes)} on disk only.",
        f"The answer is {_verdict(outcome.right)} as that of Spark's batch join, by "
        f"count and checksum: {milestones.total:,} rows.",
    ):
        _say(console, said)


def farewell(console: Console, restart: Restart, same: bool) -> None:
    """After the second act."""
    said = (
        f"The driver was killed with {restart.results_before:,} results written. "
        f"{_seconds(restart.seconds_away)} later another one had gone on. No row is lost, "
        f"and none came twice: the answer is {_verdict(same)}."
    )
    _say(console, said)
    console.print(YOUR_TURN, soft_wrap=True, highlight=False, markup=False)


def _say(console: Console, said: str) -> None:
    """Who reads a pipe gets each sentence on a line of its own."""
    console.print(said, soft_wrap=not console.is_terminal)


def _verdict(same: bool) -> str:
    return "[green]the same[/green]" if same else "[red]NOT the same[/red]"


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"
