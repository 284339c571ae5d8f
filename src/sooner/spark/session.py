"""A Spark session on this machine, for demos, tests and first steps: quiet, and with the Java and Python that fit.

On a cluster you have a session already; nothing else in `sooner.spark` needs this one.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from sooner.spark.java import ENDING, java_home, start_java

JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
SILENT_LOGS: Final = Path(__file__).with_name("silent_log4j2.properties")
DEATH_SECONDS: Final = 10.0  # what Java gets to end by itself


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
        start_java(configuration)
    session: SparkSession = SparkSession.builder.config(conf=configuration).getOrCreate()
    return session


def end_local_session() -> None:
    """Stop the present session and its Java, and wait until both are gone: from then on nothing writes any more."""
    gateway: Any = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return
    ENDING.set()
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
