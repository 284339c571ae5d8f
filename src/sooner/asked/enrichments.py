"""An enrichment in the user's words, which are the same for all engines, as the plan of it."""

import math
from collections.abc import Sequence
from typing import Final, Literal, TypedDict, get_args

from sooner.arguments import Columns, column_names, key_names
from sooner.errors import InvalidJoin
from sooner.how import Kind, kind_of
from sooner.operators.enrich.as_of import AsOf
from sooner.operators.enrich.plan import EnrichPlan, MannerName
from sooner.operators.enrich.scanning import Queue
from sooner.operators.enrich.versions import Versioning

EnrichHow = Literal["inner", "left", "semi", "anti"]
EnrichAlgorithm = Literal["auto", "probe", "ssbj", "meshjoin"]

KEYS: Final = ("on", "stream_on", "master_on")
SUFFIXES: Final = ("", "_master")  # a stream keeps its names


class Asked(TypedDict):
    """An enrichment as asked for."""

    on: Columns | None
    stream_on: Columns | None
    master_on: Columns | None
    how: EnrichHow
    columns: Columns | None
    identity: Columns | None
    version: str | None
    deleted: str | None
    as_of: str | None
    valid_from: str | None
    suffixes: tuple[str, str] | None
    algorithm: EnrichAlgorithm
    switching_factor: float
    queue: Queue


def plan_of(asked: Asked, *, changes: bool) -> EnrichPlan:
    """The plan of it; what cannot be right for any inputs is refused. `changes`: whether the master changes."""
    streams, masters = key_names(asked["on"], asked["stream_on"], asked["master_on"], KEYS)
    kind = _usable_kind(asked["how"])
    as_of = _usable_as_of(asked)
    versioning = _usable_versioning(asked, masters, as_of, changes=changes)
    return EnrichPlan(
        tuple(streams),
        tuple(masters),
        _usable_suffixes(asked["suffixes"], kind),
        _usable_algorithm(asked["algorithm"], needs_probe=versioning is not None or as_of is not None),
        kind,
        _usable_factor(asked["switching_factor"]),
        _added(asked["columns"], kind),
        versioning,
        as_of,
        _usable_queue(asked["queue"]),
    )


def kept_columns(master: Sequence[str], plan: EnrichPlan, *, changes: bool = False) -> list[str]:
    """The columns of the master that are needed, in its own order. If it changes it need not know its own version."""
    needed = {*plan.master_on, *(() if plan.as_of is None else (plan.as_of.valid_from,))}
    added = master if plan.added is None else plan.added
    if plan.versioning is not None:
        needed |= {*plan.versioning.identity}
        if changes and plan.versioning.version not in master:
            added = [name for name in added if name != plan.versioning.version]
        else:
            needed.add(plan.versioning.version)
    for name in (*plan.master_on, *added, *sorted(needed)):
        if name not in master:
            raise InvalidJoin(f"The master has no column {name!r}; it has {', '.join(master)}.")
        if master.count(name) > 1:
            raise InvalidJoin(
                f"The master has {master.count(name)} columns named {name!r}; rename them, or choose others with "
                "columns=."
            )
    return [name for name in master if name in needed or name in added]


def changed_columns(changes: Sequence[str], kept: Sequence[str], plan: EnrichPlan) -> list[str]:
    """The columns of the changes that are needed."""
    assert plan.versioning is not None, "changes have versions"
    told = [plan.versioning.version, *([] if plan.versioning.deleted is None else [plan.versioning.deleted])]
    wanted = [*kept, *(name for name in told if name not in kept)]
    for name in wanted:
        if name not in changes:
            raise InvalidJoin(f"The changes have no column {name!r}; they have {', '.join(changes)}.")
    return [name for name in changes if name in wanted]


def _added(columns: Columns | None, kind: Kind) -> tuple[str, ...] | None:
    if kind.pairs:
        return None if columns is None else tuple(column_names("columns", columns))
    if columns is not None:
        raise InvalidJoin(
            f"columns={columns!r} would never be used: how={kind.name!r} gives columns of the stream alone."
        )
    return ()


def _usable_as_of(asked: Asked) -> AsOf | None:
    as_of, valid_from = asked["as_of"], asked["valid_from"]
    if (as_of is None) != (valid_from is None):
        raise InvalidJoin(
            f"as_of={as_of!r} and valid_from={valid_from!r} go together: the column of the stream with the time that "
            "counts, and that of the master from when on a row is valid."
        )
    return None if as_of is None or valid_from is None else AsOf(as_of, valid_from)


def _usable_versioning(asked: Asked, keys: list[str], as_of: AsOf | None, *, changes: bool) -> Versioning | None:
    """Rows of the master are told apart by their key, and with as_of by when they begin, unless it is said how."""
    version, deleted, identity = asked["version"], asked["deleted"], asked["identity"]
    if version is None:
        if changes:
            raise InvalidJoin("changes= need version=, the column that tells which of two rows is newer.")
        for name, given in (("deleted", deleted), ("identity", identity)):
            if given is not None:
                raise InvalidJoin(f"{name}={given!r} is for a master that changes; give changes= and version= too.")
        return None
    if deleted is not None and not changes:
        raise InvalidJoin(f"deleted={deleted!r} is a column of changes; give changes= too.")
    told = keys if identity is None else column_names("identity", identity)
    if identity is None and as_of is not None:
        told = [*keys, as_of.valid_from]
    return Versioning(tuple(told), version, deleted)


def _usable_kind(how: object) -> Kind:
    kind = kind_of(how)
    if kind.name not in get_args(EnrichHow):
        raise InvalidJoin(
            f"how={how!r} would give rows of the master that no stream row asks for, which is certain only when the "
            f"stream has ended; use sooner.join for it, or one of {', '.join(map(repr, get_args(EnrichHow)))}."
        )
    return kind


def _usable_suffixes(suffixes: object, kind: Kind) -> tuple[str, str]:
    if suffixes is None:
        return SUFFIXES
    if not kind.pairs:
        raise InvalidJoin(
            f"suffixes={suffixes!r} would never be used: how={kind.name!r} gives columns of the stream alone; leave it "
            "out."
        )
    if not (isinstance(suffixes, list | tuple) and len(suffixes) == 2 and all(isinstance(s, str) for s in suffixes)):
        raise InvalidJoin(f"suffixes={suffixes!r} must be two texts, such as {SUFFIXES}.")
    return suffixes[0], suffixes[1]


def _usable_algorithm(algorithm: object, *, needs_probe: bool) -> MannerName:
    match algorithm:
        case "auto" | "probe":
            return "probe"
        case "ssbj" | "meshjoin" if needs_probe:
            raise InvalidJoin(
                f"algorithm={algorithm!r} meets rows of the master one by one, and with version= or as_of= it takes "
                "all rows of a key to tell which is meant; use algorithm='probe'."
            )
        case "ssbj" | "meshjoin":
            return algorithm
    raise InvalidJoin(
        f"algorithm={algorithm!r} is not known; there are {', '.join(map(repr, get_args(EnrichAlgorithm)))}."
    )


def _usable_queue(queue: object) -> Queue:
    match queue:
        case "block" | "spill":
            return queue
    raise InvalidJoin(f"queue={queue!r} must be 'block' or 'spill': what rows do for which there is no room.")


def _usable_factor(factor: object) -> float:
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not (0 < factor < math.inf):
        raise InvalidJoin(f"switching_factor={factor!r} must be a number above 0; 1 is best for nearly all streams.")
    return float(factor)
