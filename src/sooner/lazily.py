"""Names of a package that are imported when someone asks for them.

Spark starts a Python process for each source of a query and each worker; what they do not need must not make them wait.
"""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any


def lazily(
    package: str, modules: Mapping[str, str], extras: Mapping[str, tuple[str, str]] | None = None
) -> Callable[[str], Any]:
    """A `__getattr__` for a package: each name is in the module that is named with it, or is that module.

    `extras` has names that need another distribution: its module, and the extra of sooner that brings it.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        needed, extra = (extras or {}).get(name, (None, None))
        if needed is not None and importlib.util.find_spec(needed) is None:
            raise ModuleNotFoundError(f"{package}.{name} needs {needed}; run: pip install 'sooner[{extra}]'")
        module = importlib.import_module(modules[name])
        return module if module.__name__ == f"{package}.{name}" else getattr(module, name)

    return get
