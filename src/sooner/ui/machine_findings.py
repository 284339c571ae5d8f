"""What joins in process need of this machine and its Python, and what extras there are."""

import importlib.util
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from sooner.budget import format_bytes
from sooner.errors import SoonerError
from sooner.extras import missing
from sooner.runs.custody.shared_memory_directory import SHARED_MEMORY, trouble_with
from sooner.ui.findings import ABSENT, MISSING, OK, SLOWER, Finding
from sooner.ui.tpch import GENERATOR, has_generator
from sooner.version import __version__

LIBRARIES: Final = ("numpy", "pyarrow", "xxhash", "sqlglot")
EXTRAS: Final = (  # a module, the extra that brings it, and what it is for
    ("rich", "ui", "live tables, the demo"),
    ("matplotlib", "ui", "pictures"),
    ("grpc", "connect", "Spark Connect"),
    ("psycopg", "postgres", "PostgreSQL"),
    ("deltalake", "delta", "Delta tables"),
    (GENERATOR, "demo", "the tables of the demo"),
)
DEFAULT_MEMORY: Final = 2**30  # what joins take, if they are not told otherwise
MEMORY_FILE: Final = Path("/proc/meminfo")
MOUNTS: Final = Path("/proc/mounts")


def libraries_found() -> Iterator[Finding]:
    yield Finding("Python", OK, f"{platform.python_version()}, {sys.executable}")
    yield _ourselves()
    for name in LIBRARIES:
        yield _library(name)


def _ourselves() -> Finding:
    try:
        importlib.import_module("sooner.kernels.native")
    except (SoonerError, OSError) as error:  # not compiled, or for another machine
        return Finding("sooner", MISSING, str(error), "pip install . (in the checkout of sooner)")
    return Finding("sooner", OK, f"{__version__}, with its compiled loops")


def _library(name: str) -> Finding:
    try:
        importlib.import_module(name)
    except ImportError as error:
        return Finding(name, MISSING, str(error), f"pip install {name}")
    return Finding(name, OK, metadata.version(name))


def machine_found() -> Iterator[Finding]:
    yield _memory()
    yield _shared_memory()
    yield _disk()


def _memory() -> Finding:
    if not MEMORY_FILE.exists():
        return Finding("memory", OK, "not known on this system")
    lines = dict(line.split(":", 1) for line in MEMORY_FILE.read_text().splitlines())
    available = int(lines["MemAvailable"].split()[0]) * 1024
    found = f"{format_bytes(available)} available"
    if available < DEFAULT_MEMORY:
        return Finding("memory", SLOWER, found, "joins take 1 GB by default; give them less, such as memory='256MB'")
    return Finding("memory", OK, found)


def _shared_memory() -> Finding:
    """Where joins on Spark keep rows; in process they have their own memory."""
    if (trouble := trouble_with(None)) is not None:
        return Finding("shared memory", SLOWER, trouble, f"let {SHARED_MEMORY} be writable, or give shared_memory=")
    free = shutil.disk_usage(SHARED_MEMORY).free
    found = f"{format_bytes(free)} free in {SHARED_MEMORY}"
    if free < DEFAULT_MEMORY:
        cure = "joins on Spark take 1 GB by default: give them less memory=, or a container more (docker --shm-size)"
        return Finding("shared memory", SLOWER, found, cure)
    return Finding("shared memory", OK, found)


def _disk() -> Finding:
    folder, cure = tempfile.gettempdir(), "set TMPDIR or give spill_dir= a directory on a disk with room"
    free = shutil.disk_usage(folder).free
    found = f"{format_bytes(free)} free in {folder}"
    if free < DEFAULT_MEMORY:
        return Finding("disk for spilling", SLOWER, f"{found}, which is soon full", cure)
    if _is_in_memory(Path(folder)):
        return Finding("disk for spilling", SLOWER, f"{found}, which is memory and no disk", cure)
    return Finding("disk for spilling", OK, found)


def _is_in_memory(folder: Path) -> bool:
    if not MOUNTS.exists():
        return False
    mounts = {Path(line.split()[1]): line.split()[2] for line in MOUNTS.read_text().splitlines()}
    place = next((one for one in (folder.resolve(), *folder.resolve().parents) if one in mounts), None)
    return place is not None and mounts[place] in ("tmpfs", "ramfs")


def extras_found() -> Iterator[Finding]:
    for module, extra, what in EXTRAS:
        if importlib.util.find_spec(module) is not None or (module == GENERATOR and has_generator()):
            yield Finding(module, OK, f"for {what}")
        else:
            _, _, cure = str(missing(module, what, extra)).partition("run: ")
            yield Finding(module, ABSENT, f"only needed for {what}", cure)
