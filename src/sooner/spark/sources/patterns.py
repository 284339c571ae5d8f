"""Arrival patterns as text: an option of a data source is a string, and reaches other processes as one.

    {"pattern": "Pauses", "inner": {"pattern": "Fixed", "gap_seconds": 0.001}, "every_rows": 1000, "seconds": 2.0}

Not covered: patterns of your own. Workers would have to know their code; replay those in process (`sooner.sources`).
"""

import json
from dataclasses import fields
from typing import Any

from sooner.errors import InvalidCall
from sooner.sources.arrival_patterns import (
    ArrivalPattern,
    Exponential,
    Fixed,
    Fragments,
    ParetoBursts,
    Pauses,
    ZipfGaps,
)

_PATTERNS: dict[str, Any] = {
    pattern.__name__: pattern for pattern in (Exponential, Fixed, Fragments, ParetoBursts, Pauses, ZipfGaps)
}
_WELCOME = f"give a pattern of sooner.sources: {', '.join(_PATTERNS)}"


def pattern_text(arrivals: ArrivalPattern) -> str:
    """A pattern as JSON.

    >>> pattern_text(Fixed(0.5))
    '{"pattern": "Fixed", "gap_seconds": 0.5}'
    """
    return json.dumps(_plain(arrivals))


def pattern_from_text(text: str) -> ArrivalPattern:
    """The pattern that `pattern_text` wrote."""
    try:
        return _built(json.loads(text))
    except (TypeError, json.JSONDecodeError) as error:
        raise InvalidCall(f"arrivals is {text!r}, which cannot be read: {error}; {_WELCOME} as JSON") from error


def _plain(arrivals: object) -> dict[str, Any]:
    # By identity: a subclass would come back as its base and pace otherwise.
    if type(arrivals) not in _PATTERNS.values():
        raise InvalidCall(f"arrivals is {arrivals!r}; {_WELCOME}")
    values = {field.name: getattr(arrivals, field.name) for field in fields(arrivals)}  # type: ignore[arg-type]
    plain = {name: _plain(value) if name == "inner" else value for name, value in values.items()}
    return {"pattern": type(arrivals).__name__, **plain}


def _built(plain: object) -> ArrivalPattern:
    if not isinstance(plain, dict) or plain.get("pattern") not in _PATTERNS:
        raise InvalidCall(f"arrivals is {plain!r}; {_WELCOME}")
    values = {name: _built(value) if name == "inner" else value for name, value in plain.items() if name != "pattern"}
    pattern: ArrivalPattern = _PATTERNS[plain["pattern"]](**values)
    return pattern
