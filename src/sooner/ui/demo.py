"""`sooner demo`: two bursty inputs, a memory far smaller than they are, and results from the first moment.

Orders and their lines are made here, with a seed, in the shape of an order book: lines come in bursts with long pauses,
orders come slowly. At the end the answer is compared with Arrow's own join of the same data.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table

import sooner
from sooner.budget import parse_bytes
from sooner.sources import Fixed, ParetoBursts, Pauses, paced
from sooner.ui.live_view import live_view

ORDERS: Final = 150_000
LINES: Final = 600_000
MEMORY: Final = "6MB"
MARKS: Final = (0.01, 0.1, 0.5, 1.0)


def order_book(seed: int) -> tuple[pa.Table, pa.Table]:
    """Orders and their lines, in random order."""
    rng = np.random.default_rng(seed)
    orders = pa.table(
        {
            "order": rng.permutation(ORDERS),
            "customer": rng.integers(0, ORDERS // 10, ORDERS),
            "priority": rng.integers(1, 6, ORDERS).astype(np.int8),
        }
    )
    lines = pa.table(
        {
            "order": rng.integers(0, ORDERS, LINES),
            "part": rng.integers(0, 20_000, LINES),
            "cents": rng.integers(100, 1_000_000, LINES),
        }
    )
    return orders, lines


@dataclass
class Milestones:
    """When how many results were there."""

    seconds: list[float] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def add(self, seconds: float, results: int) -> None:
        self.seconds.append(seconds)
        self.results.append(results)

    def reached(self, fraction: float) -> float:
        return self.seconds[int(np.searchsorted(self.results, fraction * self.results[-1]))]


def run_demo(console: Console, seed: int = 0, speed: float = 1.0, picture: Path | None = None) -> bool:
    """Show the join as it happens; True if the answer is the same as Arrow's. `picture` gets its curve as a PNG."""
    orders, lines = order_book(seed)
    console.print(
        f"[bold]sooner[/bold] joins {LINES:,} lines with {ORDERS:,} orders while they arrive: lines in bursts, orders "
        f"slowly, both with pauses. All rows together are {(orders.nbytes + lines.nbytes) / 2**20:.0f} MB, the memory "
        f"is {MEMORY}.\n"
    )
    query = sooner.join(
        paced(lines, ParetoBursts(2e-6, 40_000, 0.2, 2.0), seed=seed, speed=speed, name="lines"),
        paced(orders, Pauses(Fixed(40e-6), every_rows=50_000, seconds=1.0), seed=seed, speed=speed, name="orders"),
        on="order",
        memory=MEMORY,
    )
    batches, milestones, last_arrival = _watch(query, console)
    answer = pa.Table.from_batches(batches, query.schema)
    same = _fingerprint(answer) == _fingerprint(lines.join(orders, "order", join_type="inner"))
    _summarise(console, milestones, last_arrival, same)
    if picture is not None:
        _draw(milestones, last_arrival, picture)
    return same


def _watch(query: sooner.Query, console: Console) -> tuple[list[pa.RecordBatch], Milestones, float]:
    batches: list[pa.RecordBatch] = []
    milestones, last_arrival, results = Milestones(), 0.0, 0
    started = time.monotonic()

    def frame() -> RenderableType:
        return live_view("lines x orders", query.progress, time.monotonic() - started, parse_bytes(MEMORY))

    with Live(get_renderable=frame, console=console, refresh_per_second=8) as live:
        for batch in query:
            batches.append(batch)
            results += batch.num_rows
            seconds = time.monotonic() - started
            milestones.add(seconds, results)
            if query.progress.phase in ("arriving", "reactive"):
                last_arrival = seconds
        live.refresh()
    return batches, milestones, last_arrival


def _fingerprint(answer: pa.Table) -> tuple[int, int, int]:
    """Rows, a sum over one column of each side, and one over their product: equal for equal answers in any order."""
    product = pc.multiply(answer["cents"], pc.cast(answer["customer"], pa.int64()))
    return answer.num_rows, pc.sum(answer["cents"]).as_py(), pc.sum(product).as_py()


def _summarise(console: Console, milestones: Milestones, last_arrival: float, same: bool) -> None:
    table = Table(
        title="When the results were there", title_justify="left", min_width=40, box=None, padding=(0, 3, 0, 0)
    )
    table.add_column("results", justify="right")
    table.add_column("after", justify="right")
    table.add_row("first", f"{milestones.seconds[0]:.2f} s")
    for mark in MARKS:
        table.add_row(f"{mark:.0%}", f"{milestones.reached(mark):.2f} s")
    console.print()
    console.print(table)
    console.print(f"\nThe last row arrived after {last_arrival:.2f} s: a join that waits for it has nothing before.")
    verdict = "[green]the same[/green]" if same else "[red]NOT the same[/red]"
    console.print(f"The answer is {verdict} as that of Arrow's own join: {milestones.results[-1]:,} rows.")


def _draw(milestones: Milestones, last_arrival: float, picture: Path) -> None:
    from matplotlib.figure import Figure  # here, because it takes a second to load

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.add_subplot()
    results = np.array(milestones.results) / 1000
    axes.fill_between(milestones.seconds, results, step="post", color="#0e7c86", alpha=0.15)
    axes.step(milestones.seconds, results, where="post", color="#0e7c86", label=f"sooner, {MEMORY} of memory")
    waiting = [0, last_arrival, last_arrival, milestones.seconds[-1]]
    axes.plot(waiting, [0, 0, results[-1], results[-1]], "--", color="#888888", label="a join that waits for all rows")
    axes.set(xlabel="seconds since the sources started", ylabel="results, thousands", xlim=(0, None), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(picture, dpi=130)
