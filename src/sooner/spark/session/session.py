"""A Spark session on this machine, for demos, tests and first steps: quiet, and with the Java and Python that fit.

On a cluster you have a session already, which is then what this gives; nothing else in `sooner.spark` needs it.
"""

import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from sooner.arguments import plain_path
from sooner.spark.session.connect import UnfitSession
from sooner.spark.session.java import ENDING, archive_options, java_home, start_java
from sooner.spark.session.versions import file_manager_of_checkpoints
from sooner.spark.session.worker_python import end_fork_server, environment_of_java, let_workers_be_this_python
from sooner.threads import start_thread

JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
REMOTE: Final = "SPARK_REMOTE"  # the environment variable that names a server of Spark Connect
SILENT_LOGS: Final = Path(__file__).with_name("silent_log4j2.properties")
DEATH_SECONDS: Final = 60.0  # what Java gets to end by itself: if it is killed, its temporary files stay
# Which classes PySpark asks Java for with almost every call, and the last one fourteen times with every exception.
CLASSES: Final = ("functions", "PythonSQLUtils", "PythonUtils", "SimplePythonFunction", "py4j.reflection.TypeUtil")
DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Spark's default asks eight times for each file of a log whether it is a link, and each time starts a process for
    # it: a tenth of a second in every batch. What it is to make sure of, this one does as well.
    "spark.sql.streaming.checkpointFileManagerClass": file_manager_of_checkpoints(),
}


def local_session(
    master: str | None = None, *, java_archive: str | Path | None = None, **settings: str
) -> SparkSession:
    """The session that is there, else a new one on this machine. Settings are Spark's, with `__` for the dots.

    In a program that was submitted it is the one that `spark-submit` was told of; `master` must then be the same. In a
    program of Spark Connect it is the one of the server.

    `java_archive` is a folder for the classes that Java loads: about 200 MB, which the first program with it leaves
    there at its end, for some seconds longer. Later ones start with them, and have first results sooner.

    >>> local_session("local[2]", spark__driver__memory="4g")  # doctest: +SKIP
    """
    chosen = {name.replace("__", "."): value for name, value in settings.items()}
    if is_remote() or REMOTE in os.environ:
        return _session_of_connect(master, chosen)
    present = _present_master()
    if present is None:
        return _new_session("local[*]" if master is None else master, chosen, java_archive)
    if master not in (None, present):
        raise UnfitSession(
            f"master is {master!r}, but Spark runs with {present!r} already: leave master out to use that, or end the "
            "session that is there (of a program that was submitted: give spark-submit this --master)."
        )
    if present.startswith("local"):
        let_workers_be_this_python()
    session: SparkSession = SparkSession.builder.config(map={**chosen}).getOrCreate()
    return session


def _session_of_connect(master: str | None, chosen: dict[str, str]) -> SparkSession:
    """The one that is there, or of the server that the environment names: PySpark then makes no other."""
    if master is not None:
        raise UnfitSession(
            f"master is {master!r}, but this is a program of Spark Connect, whose session is on a server: leave master "
            f"out to use that, or unset {REMOTE} to have a session here."
        )
    there = SparkSession.getActiveSession() if is_remote() else None
    session: SparkSession = SparkSession.builder.config(map={**chosen}).getOrCreate() if there is None else there
    return session


def _present_master() -> str | None:
    """The master of the session that is there, or that spark-submit has prepared."""
    if (context := SparkContext._active_spark_context) is not None:
        return context.master
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return SparkConf().get("spark.master")


def _new_session(master: str, chosen: dict[str, str], java_archive: str | Path | None) -> SparkSession:
    os.environ["JAVA_HOME"] = java_home()
    chosen = DEFAULTS | chosen
    ours = [f"-Dlog4j2.configurationFile={SILENT_LOGS}"]
    if java_archive is not None:
        ours += archive_options(plain_path("java_archive", java_archive))
    chosen[JAVA_OPTIONS] = " ".join([*(f'"{option}"' for option in ours), chosen.get(JAVA_OPTIONS, "")]).rstrip()
    configuration = SparkConf(loadDefaults=False).setMaster(master).setAppName("sooner").setAll(list(chosen.items()))
    with environment_of_java(on_this_machine=master.startswith("local")):
        if SparkContext._gateway is None:
            start_java(configuration)
        session: SparkSession = SparkSession.builder.config(conf=configuration).getOrCreate()
    _keep_classes(session)
    return session


def _keep_classes(session: SparkSession) -> None:
    """PySpark knows them by their last names alone, or goes to them package by package, and each time Java looks
    through all of Spark's archives for a class of every name that this might mean: milliseconds for each column.
    """
    for name in CLASSES:
        found: Any = session._jvm
        for part in name.split("."):
            within, found = found, getattr(found, part)
            setattr(within, part, found)


def end_local_session() -> None:
    """Stop the present session and its Java, and wait until both are gone: from then on nothing writes any more."""
    gateway: Any = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return
    ENDING.set()
    # A thread has its own connection to Java: that of this one may be in the middle of an answer, after Ctrl-C.
    start_thread(partial(_say_farewell, gateway), "sooner-farewell").join(DEATH_SECONDS)
    process: subprocess.Popen[bytes] = gateway.proc  # PySpark leaves it there
    assert process.stdin is not None
    process.stdin.close()  # Java ends when it sees that
    try:
        process.wait(DEATH_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    end_fork_server()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None


def _say_farewell(gateway: Any) -> None:
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is not None:
        for query in session.streams.active:
            query.stop()
        session.stop()
    gateway.shutdown()
