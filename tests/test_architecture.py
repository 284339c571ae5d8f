"""The house rules, held by reading the source; nothing is imported."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
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
    "finalizing": set(),
    "plain_text": set(),
    "completing": set(),
    "extras": {"errors"},
    "whole_files": {"errors"},
    "lazily": {"extras"},
    "how": {"errors", "sides"},
    "arguments": {"errors", "how"},
    "phases": {"errors"},
    "fallbacks": set(),
    "kernels": {"errors"},
    "budget": {"errors"},
    "parallel": {"budget", "finalizing", "threads"},
    "progress": {"budget", "phases"},
    "sources": {*BOTTOM, "budget", "extras", "finalizing", "lazily", "threads", "warning", "whole_files"},
    "sinks": {*BOTTOM, "extras", "sources", "whole_files"},
    "runs": {*BOTTOM, "finalizing"},
    "policies": BOTTOM,
    "named_algorithms": {"errors", "policies"},
    "expressions": BOTTOM,
    "estimation": {*BOTTOM, "expressions", "plain_text", "sides"},
    "queries": {*BOTTOM, "estimation", "expressions", "sides"},
    "operators": {
        *BOTTOM,
        "budget",
        "estimation",
        "expressions",
        "how",
        "named_algorithms",
        "parallel",
        "phases",
        "policies",
        "progress",
        "runs",
        "sides",
    },
    "trace": {"arguments", "errors", "finalizing", "operators"},
    "viewing": set(),
    "warning": set(),
    "asked": {*BOTTOM, "arguments", "budget", "how", "named_algorithms", "operators", "runs"},
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


@cache
def imports_of(path: Path) -> set[str]:
    """What a module imports, by whole names, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} has a relative import; imports name the whole path"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_entered(path: Path) -> set[str]:
    """The rooms that a module imports from."""
    ours = [name.split(".") for name in imports_of(path) if name.split(".")[0] == "sooner"]
    known = {parts[1] if len(parts) > 1 and parts[1] in MAY_ENTER else "sooner" for parts in ours}
    return known - {room_of(path)}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_there_is_a_house_to_look_at() -> None:
    assert {"sooner", "kernels", "runs", "policies", "operators", "local"} <= {room_of(path) for path in MODULES}


def test_imports_point_one_way() -> None:
    assert {name_of(path): away for path in MODULES if (away := rooms_entered(path) - MAY_ENTER[room_of(path)])} == {}


# No circle between folders, at any depth

Imports = dict[str, set[str]]  # of modules by their names; a package's own module ends in `__init__`


def module_name(path: Path) -> str:
    return ".".join(("sooner", *path.relative_to(SOURCE).with_suffix("").parts))


@cache
def imports_of_the_house() -> Imports:
    names = {module_name(path) for path in MODULES}

    def module_of(name: str) -> str | None:
        """The module that has what is imported by this name: it, its package, or the module that it is a name in."""
        holder = name.rpartition(".")[0]
        candidates = (name, f"{name}.__init__", holder, f"{holder}.__init__")
        return next((candidate for candidate in candidates if candidate in names), None)

    return {
        module_name(path): {module for name in imports_of(path) if (module := module_of(name)) is not None}
        for path in MODULES
    }


FOLDERS = sorted({module_name(path).rpartition(".")[0] for path in MODULES} - {"sooner"})  # the top has MAY_ENTER


def part_of(folder: str, module: str) -> str:
    """A folder's parts are its sub-folders, its own modules together, and its surface, which shows users the others."""
    first, _, rest = module.removeprefix(f"{folder}.").partition(".")
    if rest:
        return f"{folder}.{first}"
    return module if first == "__init__" else f"{folder}.*"


def imports_between_parts(folder: str, imports: Imports) -> Iterator[tuple[str, str]]:
    inside = {module for module in imports if module.startswith(f"{folder}.")}
    for module in sorted(inside):
        for imported in sorted(imports[module] & inside):
            if part_of(folder, module) != part_of(folder, imported):
                yield module, imported


def circles_in(folder: str, imports: Imports) -> dict[frozenset[str], list[str]]:
    """Parts of a folder that all reach each other, and by which imports they do."""
    between = list(imports_between_parts(folder, imports))
    steps = {(part_of(folder, module), part_of(folder, imported)) for module, imported in between}
    reached: set[tuple[str, str]] = set()
    while reached != (further := reached | steps | {(a, d) for a, b in reached for c, d in steps if b == c}):
        reached = further
    circles = {frozenset(b for c, b in reached if c == a and (b, a) in reached) for a, c in reached if a == c}
    return {
        circle: [f"{a} imports {b}" for a, b in between if {part_of(folder, a), part_of(folder, b)} <= circle]
        for circle in circles
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folders_import_each_other(folder: str) -> None:
    circles = [line for lines in circles_in(folder, imports_of_the_house()).values() for line in lines]
    assert not circles, "\n".join(circles)


def test_rooms_at_the_top_make_no_circle() -> None:
    TopologicalSorter(MAY_ENTER).prepare()


@pytest.mark.parametrize(
    ("imports", "circle"),
    [
        pytest.param(
            {"a.b.x": {"a.c.y"}, "a.c.y": set(), "a.c.z": {"a.b.w"}, "a.b.w": set()}, {"a.b", "a.c"}, id="siblings"
        ),
        pytest.param({"a.b.c.x": {"a.d.y"}, "a.d.y": {"a.b.z"}, "a.b.z": set()}, {"a.b", "a.d"}, id="other depths"),
        pytest.param({"a.x": {"a.b.y"}, "a.b.y": {"a.z"}, "a.z": set()}, {"a.*", "a.b"}, id="a folder and its own"),
        pytest.param({"a.__init__": {"a.b.x"}, "a.b.x": {"a.__init__"}}, {"a.__init__", "a.b"}, id="the surface"),
        pytest.param(
            {"a.b.x": {"a.c.x"}, "a.c.x": {"a.d.x"}, "a.d.x": {"a.b.x"}}, {"a.b", "a.c", "a.d"}, id="three folders"
        ),
    ],
)
def test_circles_are_found(imports: Imports, circle: set[str]) -> None:
    assert set(circles_in("a", imports)) == {frozenset(circle)}


def test_ways_that_lead_down_are_no_circle() -> None:
    imports = {"a.__init__": {"a.x", "a.b.x"}, "a.x": {"a.b.x"}, "a.b.x": {"a.b.y", "a.c.x"}, "a.b.y": {"a.b.x"}}
    assert circles_in("a", imports | {"a.c.x": set()}) == {}


def test_every_module_says_what_it_is_for() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_files_are_of_one_idea_and_functions_fit_a_screen() -> None:
    assert [name_of(path) for path in MODULES if len(path.read_text().splitlines()) > 500] == []
    long = [
        (name_of(path), node.name)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno is None or node.end_lineno - node.lineno >= 70)
    ]
    assert long == []


def test_names_say_what_things_are() -> None:
    parts = {part.removesuffix(".py") for path in MODULES for part in path.relative_to(SOURCE).parts}
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
    tables = [SOURCE / "named_algorithms.py", *SOURCE.glob("operators/*/algorithms.py")]
    users = [*tables, *(SOURCE / "lab").rglob("*.py")]
    imported = {node.module for user in users for node in ast.walk(tree_of(user)) if isinstance(node, ast.ImportFrom)}
    assert module in imported, "neither a table of algorithms nor the lab uses it"


def test_there_are_policies_to_look_at() -> None:
    assert len(POLICY_FILES) >= 11


def test_the_ground_floor_knows_no_two_sides() -> None:
    """Runs, policies and statistics are of any number of inputs."""
    ground = [path for path in MODULES if {"runs", "policies", "statistics"} & {*path.relative_to(SOURCE).parts}]
    assert len(ground) > 30
    assert [name_of(path) for path in ground if any("sooner.sides" in name for name in imports_of(path))] == []
