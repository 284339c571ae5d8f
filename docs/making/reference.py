"""Pages of the reference: the public names of a module, each with its signature and its docstring."""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def reference_of(module: ModuleType) -> str:
    """A page in Markdown."""
    names = [name for name in module.__all__ if not name.startswith("__")]
    members = {name: getattr(module, name) for name in names}
    parts = [f"# {module.__name__}\n", _text(module)]
    for name, member in members.items():
        if inspect.ismodule(member):
            parts.append(f"## {name}\n\n{_first_line(member)}\n")
        elif inspect.isclass(member):
            parts += [f"## {name}\n", _text(member), *_methods(member)]
        else:
            parts += [f"## {name}\n", _signature(member), _text(member)]
    return "\n".join(parts)


def _methods(member: type) -> Iterator[str]:
    for name, method in vars(member).items():
        inner = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
        if not name.startswith("_") and inspect.isfunction(inner) and inspect.getdoc(inner):
            yield f"### {member.__name__}.{name}\n"
            yield _signature(inner)
            yield _text(inner)


def _signature(member: Any) -> str:
    """As the code has it, up to the docstring."""
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(member))
    except (OSError, TypeError):
        return ""
    found = re.search(r"^(?:async )?def .*?:\n(?=\s+\"\"\"|\s+\.\.\.)", source, re.DOTALL | re.MULTILINE)
    return "" if found is None else f"```python\n{found[0].rstrip().removesuffix(':')}\n```\n"


def _text(member: Any) -> str:
    """A docstring as Markdown: examples as code, arguments as a list, and what is set in as it stands."""
    shown = []
    for paragraph in re.split(r"\n\s*\n", inspect.getdoc(member) or ""):
        if paragraph.startswith(">>>"):
            shown.append(f"```pycon\n{paragraph}\n```")
        elif all(line.startswith("    ") for line in paragraph.splitlines()):
            shown.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        elif re.match(r"[a-z_]+(?:, [a-z_]+)*: ", paragraph):
            shown.append(re.sub(r"^([a-z_]+(?:, [a-z_]+)*): ", r"- **\1**: ", paragraph, flags=re.MULTILINE))
        else:
            shown.append(paragraph)
    return "\n\n".join(shown) + "\n"


def _first_line(member: Any) -> str:
    return (inspect.getdoc(member) or "").partition("\n")[0]
