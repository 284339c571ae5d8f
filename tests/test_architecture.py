"""The house rules, held by reading the source; nothing is imported."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "sooner"
MODULES = sorted(SOURCE.rglob("*.py"))

# Which rooms each room may enter. Imports point one way: errors and kernels at the bottom, what users see on top.
BOTTOM = {"errors", "kernels"}
MAY_ENTER: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "sides": set(),
    "threads": set(),
    "extras": {"errors"},
    "lazily": {"extras"},
    "how": {"errors", "sides"},
    "arguments": {"errors", "how"},
    "phases": {"errors"},
    "kernels": {"errors"},
    "budget": {"errors"},
    "progress": {"budget", "phases"},
    "sources": {*BOTTOM, "budget"},
    "runs": BOTTOM,
    "policies": {*BOTTOM, "sides"},
    "named_algorithms": {"errors", "policies"},
    "expressions": BOTTOM,
    "estimation": {*BOTTOM, "expressions", "sides"},
    "queries": {*BOTTOM, "estimation", "expressions"},
    "operators": {
        *BOTTOM,
        "budget",
        "estimation",
        "expressions",
        "how",
        "named_algorithms",
        "phases",
        "policies",
        "progress",
        "runs",
        "sides",
        "threads",
    },
    "trace": {"arguments", "errors", "operators"},
    "asked": {*BOTTOM, "arguments", "how", "named_algorithms", "operators"},
}
INSIDE = set(MAY_ENTER)
MAY_ENTER |= {"local": INSIDE, "spark": INSIDE, "lab": INSIDE, "testing": INSIDE}
MAY_ENTER["sooner"] = {*INSIDE, "local"}  # the public surface
MAY_ENTER["ui"] = set(MAY_ENTER)
MAY_ENTER["__main__"] = {"ui"}  # the command


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return "sooner" if first == "__init__.py" else first.removesuffix(".py")


def rooms_entered(path: Path) -> set[str]:
    """The rooms that a module imports from, wherever in it the import stands."""
    modules: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} has a relative import; imports name the whole path"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = [module.split(".") for module in modules if module.split(".")[0] == "sooner"]
    known = {parts[1] if len(parts) > 1 and parts[1] in MAY_ENTER else "sooner" for parts in ours}
    return known - {room_of(path)}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


every_module = pytest.mark.parametrize("path", MODULES, ids=name_of)


def test_there_is_a_house_to_look_at() -> None:
    assert {"sooner", "kernels", "runs", "policies", "operators", "local"} <= {room_of(path) for path in MODULES}


@every_module
def test_imports_point_one_way(path: Path) -> None:
    assert rooms_entered(path) <= MAY_ENTER[room_of(path)]


@every_module
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))


@every_module
def test_files_are_of_one_idea_and_functions_fit_a_screen(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500
    functions = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert [f.name for f in functions if f.end_lineno is None or f.end_lineno - f.lineno >= 70] == []


@every_module
def test_names_say_what_things_are(path: Path) -> None:
    parts = {part.removesuffix(".py") for part in path.relative_to(SOURCE).parts}
    assert not parts & {"utils", "util", "helpers", "misc", "common"}


# One file per policy, and each of them can be chosen

NOT_A_POLICY = {"__init__.py", "order.py"}
POLICY_FILES = [path for path in MODULES if path.parent.parent.name == "policies" and path.name not in NOT_A_POLICY]


def policies_in(path: Path) -> list[str]:
    return [
        node.name
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(member, ast.FunctionDef) and member.name == "choose" for member in node.body)
    ]


@pytest.mark.parametrize("path", POLICY_FILES, ids=name_of)
def test_a_policy_file_has_one_policy_that_can_be_chosen(path: Path) -> None:
    assert len(policies_in(path)) == 1
    module = "sooner." + name_of(path).removesuffix(".py").replace("/", ".")
    users = [SOURCE / "named_algorithms.py", *(SOURCE / "lab").rglob("*.py")]
    imported = {node.module for user in users for node in ast.walk(tree_of(user)) if isinstance(node, ast.ImportFrom)}
    assert module in imported, "neither the table of algorithms nor the lab uses it"


def test_there_are_policies_to_look_at() -> None:
    assert len(POLICY_FILES) >= 11
