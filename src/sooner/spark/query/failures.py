"""Failures on Spark come wrapped in pages of stack traces; users get the sentence inside."""

import re
from typing import Final

from sooner import errors

_RAISED: Final = re.compile(r"^(?:\[PYTHON_EXCEPTION\].*?)?sooner\.[\w.]*?(\w+): (.+)$", re.MULTILINE)


def as_sooner_error(error: BaseException) -> errors.SoonerError | None:
    """What a task raised on purpose, as if it had been raised here; None if the failure is of another kind."""
    for name, sentence in reversed(_RAISED.findall(str(error))):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.SoonerError):
            return kind(sentence)
    return None
