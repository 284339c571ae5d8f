"""The compiled loops are found wherever the package is, and called as they are declared in C."""

import ctypes
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sooner
from sooner.kernels.native import LIBRARY, c_type, prototypes

PACKAGE = Path(sooner.__file__).parent
JOIN = """
import sys; sys.path.insert(0, sys.argv[1])
import pyarrow as pa, sooner
assert sooner.__file__.startswith(sys.argv[1]), sooner.__file__
table = pa.table({"k": range(3_000), "text": [str(i) for i in range(3_000)]})
print(sooner.join(table, table.select(["k"]), on="k").to_table().num_rows)
"""


def joined_with(package: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", JOIN, str(package)], capture_output=True, text=True)


def test_from_a_zip(tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "sooner"), "zip", PACKAGE.parent, PACKAGE.name)
    done = joined_with(Path(packed))
    assert done.stdout == "3000\n", done.stderr


def test_without_it_the_cure_is_told(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "sooner", ignore=shutil.ignore_patterns(LIBRARY, "__pycache__"))
    done = joined_with(tmp_path)
    assert done.returncode == 1
    assert "MissingLibrary: The compiled part of sooner (kernels.so) is not here" in done.stderr


# Prototypes are those of the C source

C_SOURCE = PACKAGE / "kernels" / "native" / "kernels.c"
C_KINDS = {"int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64, "void": None}


def c_prototypes() -> dict[str, tuple[dict[str, Any], Any]]:
    """By name, without the types that the preprocessor puts in: arguments by name, and what is given back."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", " ", C_SOURCE.read_text(), flags=re.DOTALL)
    found = {}
    for given, name, told in re.findall(r"\bEXPORT (\w+) ([\w#]+)\(([^)]*)\)", source):
        arguments = {one.split()[-1].lstrip("*"): _c_kind(one) for one in told.split(",")}
        found[name] = arguments, C_KINDS[given]
    return found


def _c_kind(argument: str) -> Any:
    return ctypes.c_void_p if "*" in argument else C_KINDS[argument.split()[0]]


def prototype_of(name: str) -> Callable[..., Any]:
    """The one of this name, or of the family that differs by the last word or by what the preprocessor puts in."""
    family = next(one for one in (name, name.partition("_##")[0], name.rpartition("_")[0]) if hasattr(prototypes, one))
    found: Callable[..., Any] = getattr(prototypes, family)
    return found


@pytest.mark.parametrize("name", c_prototypes())
def test_a_prototype_is_that_of_the_c_source(name: str) -> None:
    arguments, given = c_prototypes()[name]
    declared = {argument: c_type(told) for argument, told in prototype_of(name).__annotations__.items()}
    assert declared.pop("return") == given
    assert list(declared.items()) == list(arguments.items())


def test_every_prototype_has_a_loop() -> None:
    declared = {name for name, one in vars(prototypes).items() if inspect.isfunction(one)}
    assert declared == {prototype_of(name).__name__ for name in c_prototypes()} != set()
