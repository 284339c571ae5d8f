"""`sooner.join`: check what the user gave, and put a query together from it. No row is read here."""

import datetime as dt
import os
from pathlib import Path
from typing import Final

from sooner.arguments import Columns, plain_path, require_whole_number
from sooner.asked import Asked, plan_of
from sooner.how import How
from sooner.kernels.ranges import Width, Within
from sooner.local.arguments import require_silence, require_two_streams, usable_memory
from sooner.local.query import Query
from sooner.local.starting import parts_of
from sooner.named_algorithms import Algorithm, AlgorithmName
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, RIGHT
from sooner.sources.chosen_columns import only_columns
from sooner.sources.opening import opened
from sooner.sources.source import Source, n_rows_together
from sooner.trace import Tracer, open_trace

LEAST_PARTITION_BYTES: Final = 2 * 2**20
LEAST_WAITING_BYTES: Final = 2**18  # of a partition that is joined as a whole: nothing probes it
MOST_PARTITIONS: Final = 8


def join(
    left: object,
    right: object,
    on: Columns | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    within: Within | None = None,
    by: Columns | None = None,
    left_by: Columns | None = None,
    right_by: Columns | None = None,
    lateness: Width | None = None,
    retention: dt.timedelta | None = None,
    how: How = "inner",
    suffixes: tuple[str, str] | None = None,
    algorithm: AlgorithmName | Algorithm = "rpj",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    workers: int | None = None,
    silence_seconds: float = 0.025,
    spill_dir: str | Path | None = None,
    trace: str | Path | Tracer | None = None,
) -> Query:
    """Join two inputs while they arrive.

    left, right: anything with rows in Arrow form (tables, readers, datasets, Polars, DuckDB, pandas), a path to a
        Parquet, CSV or Arrow file, or a `sooner.sources.Source`.
    on, left_on, right_on: the key columns, by one name for both sides or by a name for each.
    within: how far apart the values of `on` may be: 5 is |left - right| <= 5, and (low, high) is low <= right - left <=
        high, where None is no limit. Numbers for numbers, a `datetime.timedelta` for dates and times.
    by, left_by, right_by: beside `within`, columns that must be equal.
    lateness: beside `within`, how far behind the newest value of its own input a row may come. Rows that nothing can
        match any more are then forgotten, and unmatched ones come out; rows that come later are counted and left out.
    retention: for equal keys, how long a row is kept at least. Pairs that arrive further apart may be missing.
    how: "inner", "left", "right", "full", "semi" or "anti", or another word of PySpark, pandas or Polars for one of
        them. A row that matches nothing comes out as soon as that is certain: when the other input has ended.
    suffixes: for columns that are not keys and have the same name on both sides; by default ("_left", "_right").
    algorithm: a name of `sooner.algorithms()`, or an `Algorithm` of your own.
    partitions: how finely a flush can choose what leaves memory; by default as fine as the memory allows.
    memory: what rows may take, such as "256MB"; beyond it rows go to `spill_dir`. None is no limit.
    workers: threads that join; by default one for each core.
    silence_seconds: how long both inputs must be silent before work on spilled rows begins.
    trace: a file for what happens, an entry a line, or something that is called with each `sooner.trace.Entry`.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> sooner.join(orders, customers, on="customer").to_table().sort_by("amount").to_pydict()
    {'customer': [1, 2, 1], 'amount': [10, 20, 30], 'name': ['Ada', 'Alan', 'Ada']}
    """
    plan = plan_of(
        Asked(
            on=on, left_on=left_on, right_on=right_on, within=within, by=by, left_by=left_by, right_by=right_by,
            lateness=lateness, retention=retention, how=how, suffixes=suffixes, algorithm=algorithm,
        )
    )  # fmt: skip
    memory_bytes = usable_memory(memory)
    partitions = partition_count(memory_bytes, plan.algorithm) if partitions is None else partitions
    workers = len(os.sched_getaffinity(0)) if workers is None else workers
    require_whole_number("partitions", partitions)
    require_whole_number("workers", workers)
    require_silence(silence_seconds)
    spill_parent = None if spill_dir is None else plain_path("spill_dir", spill_dir)
    require_two_streams(left, right)
    with opened(left, right) as sources:
        return _started(plan, sources, memory_bytes, partitions, workers, silence_seconds, spill_parent, trace)


def _started(
    plan: TwoWayPlan,
    sources: tuple[Source, Source],
    memory_bytes: int,
    partitions: int,
    workers: int,
    silence_seconds: float,
    spill_parent: Path | None,
    trace: str | Path | Tracer | None,
) -> Query:
    schema = plan.output([source.schema for source in sources])  # refused before anything is made
    if not plan.kind.pairs:
        sources = sources[LEFT], only_columns(sources[RIGHT], plan.compared_of_right)
    tracing, rows = open_trace(trace, "a join in process", [plan]), n_rows_together(sources)
    parts = parts_of(plan, INPUTS, sources, memory_bytes, partitions, workers, spill_parent, tracing, rows)
    query = Query(parts, schema, silence_seconds)
    if tracing is not None:
        query.at_end(tracing.close)
    return query


def partition_count(memory_bytes: int, algorithm: Algorithm) -> int:
    """More partitions let a flush choose more finely, but small ones cost more to probe than they hold."""
    least_bytes = LEAST_PARTITION_BYTES if algorithm.waits == "never" else LEAST_WAITING_BYTES
    possible = max(memory_bytes // least_bytes, 1)
    return min(1 << (possible.bit_length() - 1), MOST_PARTITIONS)
