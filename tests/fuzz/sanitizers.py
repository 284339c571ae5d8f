"""The library with its loops compiled under sanitizers, as a copy of the package that a process can be told to import.

Undefined behaviour is watched by the compiler from PyPI, which brings the runtime for it. It has none for addresses:
where the machine's own compiler has one, that watches both. Fences (`fences`) need neither.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import sooner
from sooner.kernels.native import LIBRARY

PACKAGE = Path(sooner.__file__).parent
TESTS = Path(__file__).parents[1]
_FLAGS = ("-O1", "-g", "-std=c11", "-shared", "-fPIC", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined")
_OPTIONS = "detect_leaks=0:allocator_may_return_null=1"


@dataclass(frozen=True)
class Sanitized:
    says: str
    variables: dict[str, str]  # of the environment of a process that is to use it


def environment(directory: Path) -> Sanitized:
    """Compiles into a copy of the package there."""
    copy = directory / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", LIBRARY))
    native = copy / "kernels" / "native"
    path = os.pathsep.join([str(directory), str(TESTS)])
    runtime = _runtime_for_addresses()
    if runtime is not None and _compiled(["cc", "-fsanitize=address,undefined"], native):
        found = {"PYTHONPATH": path, "LD_PRELOAD": runtime, "ASAN_OPTIONS": _OPTIONS}
        return Sanitized("a library with address and undefined-behaviour sanitizers", found)
    undefined = ["-fsanitize=undefined", "-fno-sanitize-trap=undefined"]
    if not _compiled([sys.executable, "-m", "ziglang", "cc", *undefined], native):
        raise RuntimeError("The loops cannot be compiled with sanitizers; is ziglang installed (make setup)?")
    return Sanitized("a library with the undefined-behaviour sanitizer", {"PYTHONPATH": path})


def _compiled(compiler: list[str], native: Path) -> bool:
    command = [*compiler, *_FLAGS, "-o", str(native / LIBRARY), str(native / "kernels.c")]
    return subprocess.run(command, capture_output=True).returncode == 0


def _runtime_for_addresses() -> str | None:
    """It must be there before anything else is: a process is told to load it first, with what throws exceptions, which
    it must find to watch it.
    """
    if shutil.which("cc") is None:
        return None
    found = []
    for name in ("libasan.so", "libstdc++.so.6"):
        told = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        if not Path(told).is_absolute() or not Path(told).exists():
            return None
        found.append(told)
    return " ".join(found)
