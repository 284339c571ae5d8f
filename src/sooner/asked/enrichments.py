"""An enrichment in the user's words, which are the same for all engines, as the plan of it."""

import math
from collections.abc import Sequence
from typing import Final, Literal, get_args

from sooner.arguments import Columns, column_names, key_names
from sooner.errors import InvalidJoin
from sooner.how import Kind, kind_of
from sooner.operators.enrich.plan import EnrichPlan, MannerName

EnrichHow = Literal["inner", "left", "semi", "anti"]
EnrichAlgorithm = Literal["auto", "probe", "ssbj", "meshjoin"]

KEYS: Final = ("on", "stream_on", "master_on")
SUFFIXES: Final = ("", "_master")  # a stream keeps its names


def enrich_plan(
    on: Columns | None,
    stream_on: Columns | None,
    master_on: Columns | None,
    how: EnrichHow,
    suffixes: tuple[str, str] | None,
    algorithm: EnrichAlgorithm,
    switching_factor: float = 1.0,
) -> EnrichPlan:
    """What cannot be right for any inputs is refused."""
    streams, masters = key_names(on, stream_on, master_on, KEYS)
    kind = _usable_kind(how)
    return EnrichPlan(
        tuple(streams),
        tuple(masters),
        _usable_suffixes(suffixes),
        _usable_algorithm(algorithm),
        kind,
        _usable_factor(switching_factor),
    )


def kept_columns(master: Sequence[str], plan: EnrichPlan, columns: Columns | None) -> list[str]:
    """The columns of the master that are needed: its keys, and those that are to be added."""
    if not plan.kind.pairs:
        if columns is not None:
            raise InvalidJoin(
                f"columns={columns!r} would never be used: how={plan.kind.name!r} gives columns of the stream alone."
            )
        added: Sequence[str] = ()
    else:
        added = master if columns is None else column_names("columns", columns)
    missing = [name for name in added if name not in master]
    if missing:
        raise InvalidJoin(f"columns={columns!r}: the master has no column {missing[0]!r}; it has {', '.join(master)}.")
    chosen = {*plan.master_on, *added}
    return [name for name in master if name in chosen]


def _usable_kind(how: object) -> Kind:
    kind = kind_of(how)
    if kind.name not in get_args(EnrichHow):
        raise InvalidJoin(
            f"how={how!r} would give rows of the master that no stream row asks for, which is certain only when the "
            f"stream has ended; use sooner.join for it, or one of {', '.join(map(repr, get_args(EnrichHow)))}."
        )
    return kind


def _usable_suffixes(suffixes: object) -> tuple[str, str]:
    if suffixes is None:
        return SUFFIXES
    if not (isinstance(suffixes, list | tuple) and len(suffixes) == 2 and all(isinstance(s, str) for s in suffixes)):
        raise InvalidJoin(f"suffixes={suffixes!r} must be two texts, such as {SUFFIXES}.")
    return suffixes[0], suffixes[1]


def _usable_algorithm(algorithm: object) -> MannerName:
    match algorithm:
        case "auto":
            return "probe"
        case "probe" | "ssbj" | "meshjoin":
            return algorithm
    raise InvalidJoin(
        f"algorithm={algorithm!r} is not known; there are {', '.join(map(repr, get_args(EnrichAlgorithm)))}."
    )


def _usable_factor(factor: object) -> float:
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not (0 < factor < math.inf):
        raise InvalidJoin(f"switching_factor={factor!r} must be a number above 0; 1 is best for nearly all streams.")
    return float(factor)
