"""`sooner.multijoin`: many inputs in one operator. No row is read here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sooner.asked.multijoins import Equality, Kinds, MultiAlgorithmName, Ranges, plan_of
from sooner.errors import InvalidJoin
from sooner.local.arguments import Settings, settings_of
from sooner.local.choosing_plan import GIVEN, OrderName, chosen_plan
from sooner.local.filtered import filtered_sources
from sooner.local.query import Query
from sooner.local.reading_last import read_last, told_of_last
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.plans.plan import JoinsPlan
from sooner.sources.at_rest import resting_rows
from sooner.sources.opening import opened
from sooner.trace import Tracer


def multijoin(
    inputs: Mapping[str, object],
    on: Equality | Sequence[Equality] = (),
    *,
    within: Ranges | None = None,
    how: Kinds | None = None,
    where: Mapping[str, Any] | None = None,
    algorithm: MultiAlgorithmName = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    order: OrderName = GIVEN,
    spill_dir: str | Path | None = None,
    trace: str | Path | Tracer | None = None,
) -> Query:
    """Join many inputs while they arrive, over one or several attributes, in one operator or in a plan of joins.

    inputs: by their names, each as an input of `sooner.join`; the same thing may be given twice, by two names.
    on: which columns are equal, as texts or pairs: "orders.customer = customers.id"; in a text, AND may stand between
        two. A name alone is a column that all inputs have. Chains, stars, snowflakes and any number of inputs on one
        attribute can be joined; circles cannot.
    within: which columns of two inputs may be how far apart, as `within` of `sooner.join`: {("a.x", "b.x"): 5} is
        |a.x - b.x| <= 5, and {("a.x", "b.x"): (low, high)} is low <= b.x - a.x <= high. What is equal in the same two
        inputs by `on` must be equal beside that. Two inputs have one range at most.
    where: conditions in SQL or as expressions of PyArrow, by the names of inputs: only such rows of them take part.
    how: how inputs join those that are named before them, where that is not "inner": {"customers": "left"}. As for
        `sooner.join`; of a "semi" or "anti" input no columns come.
    algorithm: one operator for all inputs, with no intermediate results: "miner" keeps the values in memory that give
        most results, and joins what is on disk in silences; "mjoin" lets whole buckets go, or rows by chance. Or a plan
        of two-way joins, one after the other, under one budget: "agf" lets go what is expected to cost the fewest final
        results, whichever join has it, and sends the join to disk that gives most of them; "state_spill" goes by what
        was given so far; "rpj", "hmj" and others are for each join by itself. "auto" is "miner"; or "agf" with `how`,
        and where samples of tables and Parquet files say that rows would find many others in vain.
    order: in which inputs are joined by a plan: as they are "given", or with the fewest intermediate results first, as
        "estimated" from samples of tables and Parquet files. The results are the same.
    partitions: of each join of a plan, among which it chooses; by default as many as the memory allows.
    memory: what rows and their indexes may take, such as "256MB"; beyond it rows go to `spill_dir`. None is no limit.
    trace: a file for what happens, an entry a line, or something that is called with each `sooner.trace.Entry`.

    A result comes out when the last of its rows arrives, if all others are in memory then; the rest in silences, and
    when all inputs have ended. Columns come in the order of the inputs: a key that several inputs have by one name
    comes once, and others of one name, such as those of a range, are told apart by the names of their inputs.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"order": [10, 11, 12], "customer": [1, 2, 1]})
    >>> customers = pa.table({"customer": [1, 2], "nation": [7, 8]})
    >>> nations = pa.table({"nation": [7, 8], "name": ["Chile", "Peru"]})
    >>> query = sooner.multijoin(
    ...     {"orders": orders, "customers": customers, "nations": nations},
    ...     on=["orders.customer = customers.customer", "customers.nation = nations.nation"],
    ... )
    >>> query.to_table().sort_by("order").to_pydict()
    {'order': [10, 11, 12], 'customer': [1, 2, 1], 'nation': [7, 8, 7], 'name': ['Chile', 'Peru', 'Chile']}
    """
    plan = plan_of(inputs, on, within, how, algorithm)
    names = list(inputs)
    with opened(list(inputs.values()), names) as all_rows:
        sources = filtered_sources(all_rows, names, where)
        plan.output([source.schema for source in sources])  # refused before anything is made
        plan, reasons = chosen_plan(plan, sources, algorithm, order)
        settings = settings_of_many(plan, memory, partitions, None, spill_dir)
        last = read_last([resting_rows(source) for source in sources])
        notes = [*explained_of_many(plan, last), *reasons]
        return Query(plan, sources, settings, names, trace, notes, last, "a join of many inputs in process")


def settings_of_many(
    plan: MultiPlan | JoinsPlan,
    memory: int | str | None,
    partitions: int | None,
    workers: int | None,
    spill_dir: str | Path | None,
) -> Settings:
    if isinstance(plan, JoinsPlan):
        return settings_of(plan.algorithm.of_joins, memory, partitions, workers, spill_dir)
    if partitions is not None:
        raise InvalidJoin(
            f"partitions={partitions!r} is for plans of joins, and {plan.algorithm.name!r} is one operator that has "
            "none; leave it out."
        )
    return settings_of(None, memory, None, workers, spill_dir)


def explained_of_many(plan: MultiPlan | JoinsPlan, last: int | None) -> list[str]:
    """What it will do, in words."""
    if isinstance(plan, JoinsPlan):
        return [*plan.in_words(), *told_of_last(last, plan.inputs)]
    graph = plan.graph
    attributes = map(graph.in_words, graph.attributes)
    indexes = ", ".join(f"{name} {len(graph.of_input(which))}" for which, name in enumerate(graph.inputs))
    return [
        f"joined by {plan.algorithm.name}, where {' and '.join(attributes)}",
        f"orders in which rows are kept: {indexes}; results come when the last of their rows arrives",
        *told_of_last(last, graph.inputs),
    ]
