"""`sooner.join`: check what the user gave, and put a query together from it. No row is read here."""

import datetime as dt
from pathlib import Path

from sooner.arguments import Columns
from sooner.asked.joins import Asked, plan_of
from sooner.budget import UNLIMITED_BYTES, format_bytes
from sooner.how import How
from sooner.kernels.ranges import Width, Within
from sooner.local.arguments import Settings, settings_of
from sooner.local.query import Query
from sooner.local.running import rows_bytes_of
from sooner.named_algorithms import Algorithm, AlgorithmName
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, RIGHT
from sooner.sources.chosen_columns import only_columns
from sooner.sources.opening import opened
from sooner.trace import Tracer, open_trace


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
    settings = settings_of(plan.algorithm, memory, partitions, workers, spill_dir, silence_seconds)
    with opened((left, right), INPUTS) as sources:
        plan.output([source.schema for source in sources])  # refused before anything is made
        if not plan.kind.pairs:
            sources = [sources[LEFT], only_columns(sources[RIGHT], plan.compared_of_right)]
        tracing = open_trace(trace, "a join in process", [plan])
        return Query(plan, sources, settings, tracing=tracing, notes=explained(plan, settings))


def explained(plan: TwoWayPlan, settings: Settings) -> list[str]:
    """What a join will do, in words."""
    matching = [f"left {left} = right {right}" for left, right in zip(plan.left_on, plan.right_on, strict=True)]
    if plan.near is not None:
        matching.append(f"left {plan.near.left} and right {plan.near.right} within {plan.near.within}")
    first = f"joined by {plan.algorithm.name}, how={plan.kind.name!r}, where {' and '.join(matching)}"
    if settings.memory_bytes == UNLIMITED_BYTES:
        return [first, "memory: has no limit"]
    rows_bytes = rows_bytes_of(settings.memory_bytes, len(INPUTS))
    return [first, f"memory: about {format_bytes(rows_bytes)} for rows; what does not fit goes to disk"]
