"""`sooner.join`: check what the user gave, and put a query together from it. No row is read here."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sooner.arguments import Columns
from sooner.asked.choosing_algorithm import AskedAlgorithm, Choice, Known, bytes_of_all, choose
from sooner.asked.intervals import AskedWidth, AskedWithin
from sooner.asked.joins import Asked, in_words, plan_of
from sooner.budget import UNLIMITED_BYTES, format_bytes
from sooner.how import How
from sooner.local.arguments import Settings, settings_of, usable_memory
from sooner.local.query import Query
from sooner.local.reading_last import read_last_of_two, told_of_last
from sooner.local.running import rows_bytes_of
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, RIGHT
from sooner.sources.at_rest import resting_rows
from sooner.sources.chosen_columns import only_columns
from sooner.sources.opening import opened
from sooner.sources.source import Source
from sooner.trace import Tracer


def join(
    left: object,
    right: object,
    on: Columns | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    within: AskedWithin | None = None,
    by: Columns | None = None,
    left_by: Columns | None = None,
    right_by: Columns | None = None,
    lateness: AskedWidth | None = None,
    retention: dt.timedelta | str | None = None,
    how: How = "inner",
    suffixes: tuple[str, str] | None = None,
    algorithm: AskedAlgorithm = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    workers: int | None = None,
    silence_seconds: float = 0.025,
    spill_dir: str | Path | None = None,
    trace: str | Path | Tracer | None = None,
) -> Query:
    """Join two inputs while they arrive.

    left, right: anything with rows in Arrow form (tables, readers, datasets, Polars, DuckDB, pandas), the path of a
        Parquet, CSV, JSON or Arrow file, a directory, a pattern or a list of them, a list or generator of rows (dicts
        or dataclasses) or batches, or a `sooner.sources.Source`.
    on, left_on, right_on: the key columns, by one name for both sides or by a name for each.
    within: how far apart the values of `on` may be: 5 is |left - right| <= 5, and (low, high) is low <= right - left <=
        high, where None is no limit. Numbers for numbers; for dates and times a `datetime.timedelta` or an interval in
        words: "10 minutes", or ("-1 hour", "5 minutes"). So are `lateness` and `retention`.
    by, left_by, right_by: beside `within`, columns that must be equal.
    lateness: beside `within`, how far behind the newest value of its own input a row may come. Rows that nothing can
        match any more are then forgotten, and unmatched ones come out; rows that come later are counted and left out.
    retention: for equal keys, how long a row is kept at least. Pairs that arrive further apart may be missing.
    how: "inner", "left", "right", "full", "semi" or "anti", or another word of PySpark, pandas or Polars for one of
        them. A row that matches nothing comes out as soon as that is certain: when the other input has ended.
    suffixes: for columns that are not keys and have the same name on both sides; by default ("_left", "_right").
    algorithm: a name of `sooner.algorithms()`, or an `Algorithm` of your own. "auto" is the one that is right by what
        is known of the inputs; `explain()` says which, and why.
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
    with opened((left, right), INPUTS) as sources:
        plan.output([source.schema for source in sources])  # refused before anything is made
        if not plan.kind.pairs:
            sources = [sources[LEFT], only_columns(sources[RIGHT], plan.compared_of_right)]
        rows = [resting_rows(source) for source in sources]
        choice, last = choice_of(algorithm, sources, rows, memory), read_last_of_two(rows)
        plan = replace(plan, algorithm=choice.algorithm)
        settings = settings_of(plan.algorithm, memory, partitions, workers, spill_dir, silence_seconds)
        notes = [*explained(plan, choice, settings), *told_of_last(last, INPUTS)]
        return Query(plan, sources, settings, trace=trace, notes=notes, last=last, what="a join in process")


def choice_of(
    asked: AskedAlgorithm, sources: Sequence[Source], rows: Sequence[int | None], memory: int | str | None
) -> Choice:
    """Which algorithm these sources get; `rows` are those of inputs that are here as a whole."""
    resting_bytes = bytes_of_all([source.schema for source in sources], rows)
    rows_bytes = rows_bytes_of(usable_memory(memory), len(INPUTS))
    return choose(asked, Known(resting_bytes=resting_bytes, memory_bytes=rows_bytes))


def explained(plan: TwoWayPlan, choice: Choice, settings: Settings) -> list[str]:
    """What a join will do, in words."""
    said = in_words(plan, choice)
    if settings.memory_bytes == UNLIMITED_BYTES:
        return [*said, "memory: has no limit"]
    rows_bytes = rows_bytes_of(settings.memory_bytes, len(INPUTS))
    return [*said, f"memory: about {format_bytes(rows_bytes)} for rows; what does not fit goes to disk"]
