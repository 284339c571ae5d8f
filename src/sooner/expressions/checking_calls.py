"""Fit a call to what goes into it: which kernel it is, of what kind its values are, and which of them are fixed."""

import re
from collections.abc import Sequence
from typing import Any, Final

from sooner.errors import InvalidJoin
from sooner.expressions import kinds
from sooner.expressions.conversion import as_kind, casted
from sooner.expressions.functions import FUNCTIONS, PARTS, Function
from sooner.expressions.kinds import FLOAT, INTEGER, NULL, TEXT, Kind, exact
from sooner.expressions.steps import Constant, Step, applied
from sooner.expressions.tree import Call

_FORMATS: Final = re.compile(r"(?:[^%]|%[YmdHMSyjBbAa%])*")
_NAMES: Final = {"monthname": "%B", "dayname": "%A"}
_WORDS: Final = {"number": "a whole number from 0 on", "text": "a text in quotes"}


def call_of(node: Call, steps: Sequence[Step], what: str) -> Step:
    """Of a function that does not take values of one kind, whichever."""
    function, text = FUNCTIONS[node.name], str(node)
    n_values = function.most - len(function.constants)
    values, fixed = list(steps[:n_values]), steps[n_values:]
    constants = [_constant(one, kind, node, what) for one, kind in zip(fixed, function.constants, strict=False)]
    if function.takes == "texts":
        return _of_texts(node, values, what)
    for part, one in zip(node.parts, values, strict=False):
        if one.kind != NULL and not _fits(function, one.kind):
            takes = {"floats": "numbers", "days": "dates and times"}.get(function.takes, function.takes)
            raise InvalidJoin(f"{what} has {text}, but {part} is {one.kind}; it takes {takes}.")
    of = values[0]
    if any(one.kind == NULL for one in values):
        return Constant(function.gives or INTEGER, True, None)
    if node.name in _ROUNDING:
        return _rounded(node.name, of, constants, text, what)
    if node.name == "sign" or function.takes == "floats":
        values = [as_kind(one, FLOAT, text, what) for one in values]
    if function.takes == "days" or (of.kind == kinds.DATE and node.name in ("hour", "minute", "second")):
        values = [as_kind(one, kinds.LOCAL_TIME, text, what) for one in values]
    _require_meaning(node, constants, text, what)
    constants = [_NAMES[node.name]] if node.name in _NAMES else constants
    kernel = "strftime" if node.name in _NAMES else node.name
    kind = of.kind if function.gives is None or function.gives == TEXT == of.kind else function.gives
    kind = of.kind if function.gives == TEXT and of.kind.name == "text" else kind
    if node.name == "substring" and len(constants) == 1:
        constants.append(None)
    return applied(kernel, tuple(values), kind, text, what, *constants)


_ROUNDING: Final = ("round", "floor", "ceil", "trunc")


def _rounded(name: str, of: Step, constants: Sequence[int], text: str, what: str) -> Step:
    """Decimals keep as many digits as are asked for; whole numbers stay as they are, but for floor and its like."""
    digits = constants[0] if constants else 0
    if of.kind == FLOAT:
        return applied(f"float {name}", (of,), FLOAT, text, what, *([digits] if name == "round" else []))
    if of.kind == INTEGER:
        return of if name == "round" else as_kind(of, FLOAT, text, what)
    if digits >= of.kind.scale:
        return of
    kernel = "round" if name == "round" else f"exact {name}"
    return applied(kernel, (of,), exact(digits), text, what, 10 ** (of.kind.scale - digits))


def _of_texts(node: Call, values: Sequence[Step], what: str) -> Step:
    if node.name == "||" and any(one.kind == NULL for one in values):
        return Constant(TEXT, True, None)
    texts = [casted(one, TEXT, str(node), what) if one.kind.name != "text" else one for one in values]
    texts = [as_kind(one, TEXT, str(node), what) for one in texts]
    nullable = node.name == "||" and any(one.may_be_null for one in texts)
    return applied(node.name, tuple(texts), TEXT, str(node), what, may_be_null=nullable)


def _fits(function: Function, kind: Kind) -> bool:
    return {
        "numbers": kind.is_numeric,
        "floats": kind.is_numeric,
        "text": kind.name == "text",
        "moments": kind.name in ("date", "local time", "instant"),
        "days": kind.name in ("date", "local time"),
    }[function.takes]


def _constant(step: Step, kind: str, node: Call, what: str) -> Any:
    is_fit = isinstance(step, Constant) and step.value is not None
    if is_fit and isinstance(step, Constant):
        if kind == "number" and step.kind == INTEGER and step.value >= 0:
            return step.value
        if kind == "text" and step.kind.name == "text":
            return step.value
    raise InvalidJoin(f"{what} has {node}, in which one of the last values must be {_WORDS[kind]}; write it there.")


def _require_meaning(node: Call, constants: Sequence[Any], text: str, what: str) -> None:
    units = [one for one in PARTS if one != "week" or node.name == "date_trunc"]
    if node.name in ("date_trunc", "date_diff") and constants[0] not in units:
        raise InvalidJoin(f"{what} has {text}; there are {', '.join(units)}.")
    if node.name == "strftime" and _FORMATS.fullmatch(constants[0]) is None:
        raise InvalidJoin(f"{what} has {text}; there are %Y, %m, %d, %H, %M, %S, %y, %j, %B, %b, %A and %a.")
    if node.name in ("lpad", "rpad") and len(constants[1]) != 1:
        raise InvalidJoin(f"{what} has {text}; fill it up with one character.")
    if node.name == "split_part" and constants[1] < 1:
        raise InvalidJoin(f"{what} has {text}; parts are counted from 1.")
