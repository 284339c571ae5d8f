"""The demo's estimate: how soon a sum over the join is known to a percent, of rows that arrive at the same pace."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sooner
from sooner.sources import paced
from sooner.sources.source import Source

if TYPE_CHECKING:
    from sooner.ui.demo import Stream

REVENUE: Final = "sum(l_extendedprice * (1 - l_discount))"
PERCENT: Final = 0.01


@dataclass(frozen=True)
class EarlyAnswer:
    """A sum over the join, when it was known so well."""

    seconds: float  # since its sources were asked for rows
    value: float
    half_interval: float
    share_read: float


class EarlySum:
    """Runs beside the join on Spark, in process, in a thread of its own."""

    def __init__(self, lines: "Stream", orders: "Stream") -> None:
        self._thread = ThreadPoolExecutor(1)
        self._answer: Future[EarlyAnswer] = self._thread.submit(_estimate, lines, orders)

    def answer(self) -> EarlyAnswer:
        """Waits for it."""
        with self._thread:
            return self._answer.result()


def _estimate(lines: "Stream", orders: "Stream") -> EarlyAnswer:
    estimates = sooner.estimate(
        _arriving(lines),
        _arriving(orders),
        left_on="l_orderkey",
        right_on="o_orderkey",
        aggregates={"revenue": REVENUE},
        sampling="rows",
        total_rows=(lines.table.rows, orders.table.rows),
        until=PERCENT,
    )
    last = estimates.final()
    revenue = last["revenue"]
    half_interval = 0.0 if last.exact else float(revenue.high - revenue.value)
    return EarlyAnswer(last.seconds, float(revenue.value), half_interval, last.share_read or 1.0)


def _arriving(stream: "Stream") -> Source:
    """In random order, as the query on Spark reads them."""
    table = pq.read_table(stream.table.file)
    order = np.random.default_rng(stream.seed).permutation(table.num_rows)
    return paced(table.take(pa.array(order)), stream.arrivals, seed=stream.seed, speed=stream.speed)
