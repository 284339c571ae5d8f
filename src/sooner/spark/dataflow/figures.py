"""The figures of a join that are in Spark's progress, among the observed metrics."""

from collections.abc import Sequence
from typing import Any, Final

from sooner.spark.step.standing import JoinProgress

_OF_ALL: Final = {
    "results": "long",
    "resident_bytes": "long",
    "spilled_bytes": "long",
    "forgotten_rows": "long",
    "copied_rows": "long",
    "late_rows": "long",
    "covered_fraction": "double",
    "fallbacks": "string",
    "hot_keys": "string",
}
_NOTHING: Final = {"long": 0, "double": 1.0, "string": ""}


def metrics_of(state: str) -> str:
    """The name of the observed metrics of the join with this state."""
    return f"sooner:{state}"


def figures_of(inputs: Sequence[str]) -> dict[str, str]:
    """What the figures of an operator are called, and their types."""
    return {"phase": "string", **{f"arrived_{name}": "long" for name in inputs}, **_OF_ALL}


def figures(progress: JoinProgress | None, inputs: Sequence[str]) -> dict[str, Any]:
    """Those of a join; before its first batch is done nothing has come."""
    if progress is None:
        return {name: _NOTHING[type_] for name, type_ in figures_of(inputs).items()} | {"phase": "arriving"}
    total = progress.total
    values = (
        total.phase,
        *total.arrived_rows,
        total.results,
        total.resident_bytes,
        total.spilled_bytes,
        total.forgotten_rows,
        total.copied_rows,
        sum(progress.late_rows),
        total.covered_fraction,
        "; ".join(total.fallbacks),
        ", ".join(key.name for key in progress.hot_keys),
    )
    return dict(zip(figures_of(inputs), values, strict=True))
