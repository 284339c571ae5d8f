"""`%load_ext sooner` in IPython or Jupyter: the values of `how=`, `algorithm=` and the like complete with the tab key.

Editors know them from the types; IPython completes names by itself, and not what may stand in quotes.
"""

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

HOUSE: Final = "sooner"
_ASKED: Final = re.compile(r"""(\w+)\s*=\s*["'](\w*)$""")  # an argument whose text has begun
_CALLED: Final = re.compile(r"[A-Za-z_][\w.]*$")
_CLOSED_BY: Final = {")": "(", "]": "[", "}": "{"}


def load_ipython_extension(ipython: Any) -> None:
    """What IPython calls for `%load_ext sooner`."""

    def matcher(context: Any) -> dict[str, Any]:
        from IPython.core.completer import SimpleCompletion

        before = _before_cursor(context)
        completions = [SimpleCompletion(text=value, type="value") for value in values_of(before, ipython.user_ns)]
        typed = _ASKED.search(before)
        fragment = "" if typed is None else typed[2]
        return {"completions": completions, "matched_fragment": fragment, "suppress": bool(completions)}

    matcher.matcher_api_version = 2  # type: ignore[attr-defined] # as IPython asks for
    matcher.matcher_identifier = HOUSE  # type: ignore[attr-defined]
    ipython.Completer.custom_matchers.append(matcher)


def values_of(before: str, known: dict[str, Any]) -> list[str]:
    """The values that can follow this text, where it has begun one of a function of ours."""
    asked = _ASKED.search(before)
    if asked is None or (called := _called_around(before[: asked.start()])) is None:
        return []
    function = _found(called, known)
    if str(getattr(function, "__module__", "")).split(".")[0] != HOUSE:
        return []
    hints = get_type_hints(function)
    return [value for value in _literals(hints.get(asked[1])) if value.startswith(asked[2])]


def _before_cursor(context: Any) -> str:
    lines = context.full_text.splitlines(keepends=True)
    line: str = context.line_with_cursor
    return "".join(lines[: context.cursor_line]) + line[: context.cursor_position]


def _called_around(before: str) -> str | None:
    """The name of the function whose arguments this text ends in; brackets in texts are taken as others."""
    open_ = []
    for place, letter in enumerate(before):
        if letter in _CLOSED_BY.values():
            open_.append(place)
        elif letter in _CLOSED_BY and open_ and before[open_[-1]] == _CLOSED_BY[letter]:
            open_.pop()
    if not open_ or before[open_[-1]] != "(":
        return None
    called = _CALLED.search(before[: open_[-1]])
    return None if called is None else called[0]


def _found(called: str, known: dict[str, Any]) -> Any:
    """What this name is, by way of modules alone: to ask anything else might run a user's code."""
    first, *others = called.split(".")
    found = known.get(first)
    for name in others:
        found = getattr(found, name, None) if isinstance(found, ModuleType) else None
    return found


def _literals(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from (value for value in get_args(hint) if isinstance(value, str))
        return
    for part in get_args(hint):
        yield from _literals(part)
