"""Libraries that only some things need: what is said where one is missing, and how to get it."""

import importlib.util

from sooner.errors import MissingLibrary


def require(library: str, who: str, extra: str | None = None) -> None:
    """Refuse what cannot be done without this library; `extra` is the extra of sooner that brings it."""
    if importlib.util.find_spec(library) is None:
        raise missing(library, who, extra)


def missing(library: str, who: str, extra: str | None = None) -> MissingLibrary:
    """Extras are installed from a checkout: there is no sooner on PyPI."""
    cure = f"pip install {library}" if extra is None else f"pip install '.[{extra}]' (in the checkout of sooner)"
    return MissingLibrary(f"{who} needs {library}; run: {cure}", name=library)
