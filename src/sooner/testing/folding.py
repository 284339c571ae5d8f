"""The folding join as a subject: pairs are counted by the numbers of their rows, which stand for the pairs themselves.

A result is what has been folded by then. What a call has added to that is what it gave.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sooner.asked.joins import equi_join
from sooner.estimation.preparation import BY, TAG
from sooner.estimation.question import question_of
from sooner.estimation.tags import InTurn
from sooner.estimation.workings import Workings, workings_of
from sooner.kernels.folding import as_reals
from sooner.named_algorithms import Algorithm
from sooner.operators.folding.folds import Folds, groups_of, load_sums, sums_of
from sooner.operators.folding.plan import FoldingPlan, joined_columns
from sooner.testing.dice import Dice
from sooner.testing.invariants import check_invariants
from sooner.testing.subject import Row, Subject
from sooner.testing.two_way import SCHEMA, draw_numbered_rows

GROUPS: Final = 8  # of each side, by the remainder of a row's number


def folding_subject(algorithm: Algorithm) -> Subject:
    """Counts of pairs, with an algorithm that covers rectangles of random rows."""
    join, keys, schemas = equi_join("key", None, None, None, algorithm), (("key",), ("key",)), [SCHEMA, SCHEMA]
    by = [f"row_left % {GROUPS}", f"row_right % {GROUPS}"]
    question = question_of({"pairs": "count"}, by, None, join.output(schemas))
    workings = workings_of(question, schemas, keys, joined_columns(join, schemas))

    def draw_rows(dice: Dice, which: int, n_rows: int, first_number: int) -> pa.RecordBatch:
        """With the tally behind them."""
        rows = draw_numbered_rows(dice, which, n_rows, first_number)
        return pa.concat_batches(workings.sides[which].prepared(rows, InTurn(first_number, n_rows)))

    return Subject(
        name=f"estimates with the algorithm {algorithm.name!r}",
        plan=FoldingPlan(*keys, algorithm, workings),
        schemas=tuple(one.schema for one in workings.sides),
        draw_rows=draw_rows,
        answer=lambda tables: _counts([_unprepared(table) for table in tables]),
        rows_of=lambda folds, found: sorted((pairs_in(folds) - found).elements()),
        counts_rows=lambda batch: len(_unprepared(pa.table(batch))),
        invariants=lambda operator: check_invariants(operator._join),
        meaning=lambda plain: plain | {"folds": folds_meaning(workings, plain["folds"])},
    )


def pairs_in(folds: Folds) -> Counter[Row]:
    """All that were folded, by the groups of their rows."""
    keys = [[key for (key,) in groups.keys] for groups in folds.groups]
    counts = as_reals(folds.found.wholes[:, :, 0]).sum(axis=(2, 3))
    return Counter(
        {(left, right): int(counts[i, j]) for i, left in enumerate(keys[0]) for j, right in enumerate(keys[1])}
    )


def folds_meaning(workings: Workings, plain: dict[str, Any]) -> dict[str, Any]:
    """Groups have numbers in the order in which they were seen; what counts is what there is of each."""
    groups = [groups_of(workings, side) for side in range(2)]
    for one, text in zip(groups, plain["groups"], strict=True):
        one.load_plain(text)

    def told(data: Sequence[str] | None) -> list[Any]:
        if data is None:
            return []
        sums = load_sums(sums_of(workings, plain["n_tags"], (len(groups[0]), len(groups[1]))), data)
        counts = as_reals(sums.wholes[:, :, 0])
        return sorted(
            [*left, *right, counts[i, j].tolist()]
            for i, left in enumerate(groups[0].keys)
            for j, right in enumerate(groups[1].keys)
            if counts[i, j].any()
        )

    sums = {
        "met": told(plain["met"]),
        "parts": [told(one) for one in plain["parts"] or ()],
        "pending": [[p, told(one)] for p, one in plain["pending"]],
    }
    return {name: part for name, part in plain.items() if name != "groups"} | sums


def _unprepared(table: pa.Table) -> pa.Table:
    """Without tallies."""
    return table.filter(pc.greater_equal(table[TAG], 0))


def _counts(tables: Sequence[pa.Table]) -> Counter[Row]:
    left, right = (list(zip(table["key"].to_pylist(), table[f"{BY}0"].to_pylist(), strict=True)) for table in tables)
    by_key: dict[int, list[int]] = {}
    for key, group in right:
        by_key.setdefault(key, []).append(group)
    return Counter((mine, other) for key, mine in left if key is not None for other in by_key.get(key, ()))
