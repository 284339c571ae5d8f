"""Options of a data source: Spark hands over strings, a source wants numbers and lists.

What is wrong is said here, before a query starts, in the words of the function that the user called.
"""

import json
from collections.abc import Mapping, Sequence

from sooner.errors import InvalidCall


def required(options: Mapping[str, str], option: str, what: str) -> str:
    """The text of an option that must be there."""
    value = options.get(option)
    if not value:
        raise InvalidCall(f"option {option!r} is missing; give {what}")
    return value


def at_least(options: Mapping[str, str], option: str, least: int, default: int) -> int:
    """A whole number that is not below `least`."""
    text = options.get(option)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        raise InvalidCall(f"{option} is {text!r}; give a whole number, {least} or more") from None
    if value < least:
        raise InvalidCall(f"{option} is {value}; give {least} or more")
    return value


def whole_number(options: Mapping[str, str], option: str, default: int) -> int:
    """A whole number of any size."""
    text = options.get(option)
    try:
        return default if text is None else int(text)
    except ValueError:
        raise InvalidCall(f"{option} is {text!r}; give a whole number") from None


def names(options: Mapping[str, str], option: str) -> tuple[str, ...] | None:
    """A JSON list of names, which may have any characters in them; None if it is not given."""
    text = options.get(option)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise InvalidCall(f'{option} is {text!r}; give a JSON list of at least one name, such as ["a", "b"]')
    return tuple(value)


def only_known(options: Mapping[str, str], known: Sequence[str], source: str) -> None:
    """Refuse options that nobody would read: most likely they are misspelt."""
    for option in options:
        if option.lower() not in known:
            raise InvalidCall(f"{source} has no option {option!r}; it has {', '.join(known)}")


def given(**options: object) -> dict[str, str]:
    """Arguments of a public function as options; None stands for an argument that was not given."""
    return {option: _text(value) for option, value in options.items() if value is not None}


def _text(value: object) -> str:
    return json.dumps(list(value)) if isinstance(value, list | tuple) else str(value)
