"""What is done once for an object: when somebody says so, when it is forgotten, or when the interpreter ends.

`weakref.finalize` does that too, but fails at the end if another thread makes or calls one meanwhile: it walks over a
dict that changes then. Here threads may.
"""

import atexit
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Final

_pending: "Final[dict[int, Finalizer]]" = {}


class Finalizer:
    """What it does must not refer to the owner."""

    def __init__(self, owner: object, do: Callable[..., object], *args: Any) -> None:
        self._do = partial(do, *args)
        self._owner = weakref.ref(owner, lambda _: self())
        _pending[id(self)] = self

    def __call__(self) -> None:
        """Do it, unless it is done."""
        if _pending.pop(id(self), None) is not None:
            self._do()


@atexit.register
def _finalize_all() -> None:
    """The newest first, also those that are made meanwhile."""
    while newest_first := list(_pending.values())[::-1]:
        for one in newest_first:
            try:
                one()
            except Exception:  # the others have their turn
                sys.excepthook(*sys.exc_info())
