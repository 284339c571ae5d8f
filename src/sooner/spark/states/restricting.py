"""The part of a version that some of its keys are: what a join knows of the others is left out.

Rows with different keys never meet, so a part goes on as the whole would have: ticks, cells, horizons and tasks in
their middle mean the same of fewer rows. What is counted is dealt out. Such counts are for policies and for people, but
for one: where rows wait, something is open as long as open pairs are more than none, so of some there are always some.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sooner.errors import InvalidJoin
from sooner.spark.shuffle.hot_keys import HOT_KEYS
from sooner.spark.states.contents import Plain, run_lists
from sooner.spark.step.heavy_keys import HEAVY_KEYS, none_counted

RowCounts = list[list[int]]  # [side][partition of the operator]


@dataclass(frozen=True)
class Share:
    """One of the parts that a partition is divided into, each about as large as the others."""

    number: int
    parts: int

    def of(self, count: int) -> int:
        """All shares together are what there was."""
        return (count + self.number) // self.parts

    def some_of(self, count: int) -> int:
        """At least one, if there was one."""
        return -(-count // self.parts)

    def of_amount(self, amount: float) -> float:
        return amount / self.parts

    def of_pairs(self, pairs: float) -> float:
        return pairs / self.parts**2


def require_divisible(state: Plain, where: str) -> None:
    """Refuse keys that are spread over all partitions there are, and what is in the middle of a key: how far it is, is
    counted in blocks, which a part has not.
    """
    if HOT_KEYS in state and state[HOT_KEYS]["hot"]:
        names = ", ".join(one["name"] for one in state[HOT_KEYS]["hot"])
        raise InvalidJoin(
            f"{where} has rows of hot keys ({names}), which are spread over all partitions, and cannot be divided: "
            "start the query with the partitions that it has, or anew with another checkpoint and state."
        )
    for task in state["operator"]["tasks"]:
        _, strides, _ = task["cursor"]
        if strides:
            raise InvalidJoin(
                f"{where} is in the middle of rows that do not fit into its memory at once, and cannot be divided "
                "there: start the query with the partitions that it has, let it run for some batches, and try again."
            )


def counted_rows(state: Plain) -> RowCounts:
    """Of each side and partition of the operator, in memory and on disk."""
    return [
        [_rows_of(partition["resident"]) + _rows_of(_on_disk(partition)) for partition in one["partitions"]]
        for one in state["operator"]["inputs"]
    ]


def restrict(state: Plain, share: Share, rows_before: RowCounts) -> None:
    """Let a version, whose run lists are those of a part already, know as much as the part does."""
    operator = state["operator"]
    rows_now = counted_rows(state)
    _restrict_statistics(operator["statistics"], share, rows_before, rows_now)
    statistics, inputs = operator["statistics"], operator["inputs"]
    for name, of in (("spilled_rows", "n_rows"), ("spilled_bytes", "n_bytes")):
        statistics[name] = [
            [sum(segment[of] for segment in _on_disk(partition)) for partition in one["partitions"]] for one in inputs
        ]
    if operator.get("full_since") is None:  # where rows wait they are open wherever they are
        _limit_to_rows(statistics)
    for task in operator["tasks"]:
        _restrict_task(task, share)
    if operator["expiry"] is not None:
        operator["expiry"]["late_rows"] = _each(share.of, operator["expiry"]["late_rows"])
    for name in ("late_rows", "copied_rows"):
        state[name] = _each(share.of, state[name])
    if HOT_KEYS in state:  # keys that were counted here may be at home elsewhere now
        state[HOT_KEYS]["heavy"] = none_counted()


def restricted_summary(summary: Plain, state: Plain, share: Share) -> Plain:
    """What a part says of itself."""
    progress = dict(summary["progress"])
    for name in ("arrived_rows", "forgotten_rows_by_side", "late_rows", "results", "copied_rows"):
        progress[name] = _each(share.of, progress[name])
    for name in ("resident_bytes", "peak_bytes"):
        progress[name] = share.of(progress[name])
    for name in ("arrived_pairs", "covered_pairs"):
        progress[name] = share.of_pairs(progress[name])
    by_kind = {kind: [0] * len(progress["arrived_rows"]) for kind in ("resident", "spilled")}
    spilled_bytes = 0
    for one in run_lists({"operator": state["operator"] | {"tasks": []}}):
        by_kind[one.rows][one.side] += _rows_of(one.segments)
        spilled_bytes += sum(segment["n_bytes"] for segment in one.segments) if one.rows == "spilled" else 0
    counted = {f"{kind}_rows_by_side": rows for kind, rows in by_kind.items()}
    return {
        **summary,
        **({HEAVY_KEYS: state[HOT_KEYS]["heavy"]} if HEAVY_KEYS in summary else {}),
        "progress": {**progress, **counted, "spilled_bytes": spilled_bytes},
        "late_rows": _each(share.of, summary["late_rows"]),
    }


def _restrict_statistics(statistics: Plain, share: Share, rows_before: RowCounts, rows_now: RowCounts) -> None:
    """Rows that are there are known, and of those that are gone each part has had its share."""
    statistics["arrived_rows"] = [
        [now + share.of(max(all_rows - before, 0)) for all_rows, before, now in zip(*counts, strict=True)]
        for counts in zip(statistics["arrived_rows"], rows_before, rows_now, strict=True)
    ]
    shares: dict[Callable[[Any], Any], tuple[str, ...]] = {
        share.of: ("received_rows", "forgotten_rows", "whole_rows", "results"),
        share.some_of: ("undecided_rows", "resident_rows", "resident_bytes"),
        share.of_pairs: ("unmet_with_disk", "unmet_on_disk", "compared_pairs", "matched_pairs"),
    }
    for part_of, names in shares.items():
        statistics.update((name, _each(part_of, statistics[name])) for name in names)
    statistics["history"] = [
        [[ticks, _each(share.some_of, totals)] for ticks, totals in side] for side in statistics["history"]
    ]
    unit, in_unit, settled = statistics["recent"]
    recent = (None if rows is None else _each(share.of_amount, rows) for rows in (in_unit, settled))
    statistics["recent"] = [unit, *recent]
    statistics.pop("kept_rights", None)  # how many of them are here nobody knows: then what comes counts as open


def _limit_to_rows(statistics: Plain) -> None:
    """No more is open with the disk, or on it, than is there."""
    left, right = statistics["spilled_rows"]
    both = zip(statistics["unmet_on_disk"], left, right, strict=True)
    statistics["unmet_on_disk"] = [min(pairs, lefts * rights) for pairs, lefts, rights in both]
    statistics["unmet_with_disk"] = [
        [pairs if rows else 0.0 for pairs, rows in zip(unmet, others, strict=True)]
        for unmet, others in zip(statistics["unmet_with_disk"], (right, left), strict=True)
    ]


def _restrict_task(task: Plain, share: Share) -> None:
    task["rows"] = share.of(task["rows"])
    if "open_pairs" in task:
        task["open_pairs"] = share.of_pairs(task["open_pairs"])
    if "undecided_rows" in task:
        task["undecided_rows"] = share.some_of(task["undecided_rows"])
    if task.get("task") is not None:
        fan_in, runs, open_pairs = task["task"]
        task["task"] = [fan_in, runs, share.of_pairs(open_pairs)]


def _on_disk(partition: Plain) -> list[Plain]:
    return [segment for run in partition["spilled"] for segment in run["segments"]]


def _rows_of(segments: list[Plain]) -> int:
    return sum(segment["n_rows"] for segment in segments)


def _each(part_of: Callable[[Any], Any], nested: Any) -> Any:
    return [_each(part_of, one) for one in nested] if isinstance(nested, list) else part_of(nested)
