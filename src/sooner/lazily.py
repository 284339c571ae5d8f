"""Names of a package that are imported when someone asks for them.

Spark starts a Python process for each source of a query and each worker; what they do not need must not make them wait.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any

from sooner.extras import require

Extras = Mapping[str, tuple[str, str]]


def lazily(
    package: str, modules: Mapping[str, str], extras: Extras | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package: each name is in the module that is named with it, or is that module.

    `extras` has names that need another distribution: its module, and the extra of sooner that brings it. The list of
    names, which editors complete, is `__all__` without those that lack theirs.
    """
    needs = extras or {}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in needs:
            library, extra = needs[name]
            require(library, f"{package}.{name}", extra)
        module = importlib.import_module(modules[name])
        return module if module.__name__ == f"{package}.{name}" else getattr(module, name)

    def names() -> list[str]:
        own = vars(sys.modules[package])
        absent = {name for name, (library, _) in needs.items() if importlib.util.find_spec(library) is None}
        special = {name for name in own if name.startswith("__")}
        return sorted({*own["__all__"], *special} - absent)

    return get, names
