"""Libraries that only some things need: what is said where one is missing, and how to get it."""

import importlib.util
import re
from typing import Final

from sooner.errors import MissingLibrary

OLDEST_SPARK: Final = "4.0"


def require(library: str, who: str, extra: str | None = None) -> None:
    """Refuse what cannot be done without this library; `extra` is the extra of sooner that brings it."""
    if importlib.util.find_spec(library) is None:
        raise missing(library, who, extra)


def require_at_least(oldest: str, library: str, who: str) -> None:
    """Refuse an older version of a library, before an import fails in the middle of it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(library)
    except PackageNotFoundError:  # a vendor's, under another name
        return
    if numbers_of(found) < numbers_of(oldest):
        raise MissingLibrary(
            f"{who} needs {library} {oldest} or newer, and {found} is here; run: pip install '{library}>={oldest}'",
            name=library,
        )


def numbers_of(version_: str) -> list[int]:
    """The first two of a version: those behind them are of repairs."""
    return list(map(int, re.findall(r"\d+", version_)[:2]))


def missing(library: str, who: str, extra: str | None = None) -> MissingLibrary:
    """Extras are installed from a checkout: there is no sooner on PyPI."""
    cure = f"pip install {library}" if extra is None else f"pip install '.[{extra}]' (in the checkout of sooner)"
    return MissingLibrary(f"{who} needs {library}; run: {cure}", name=library)
