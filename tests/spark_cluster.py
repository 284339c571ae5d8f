"""A standalone Spark cluster on this machine: a master and two workers, each in processes of its own."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

from patience import HANG_SECONDS, until

SPARK_HOME = Path(pyspark.__file__).parent
WORKERS = 2


def clean_environment(**others: str) -> dict[str, str]:
    """That of this process, without what would let another Python find modules here."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    return {**kept, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", **others}


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Its address. At the end all its processes are gone."""
    url = f"spark://127.0.0.1:{_free_port()}"
    processes = [_start(folder, "master", "--port", url.rpartition(":")[2])]
    try:
        for number in range(WORKERS):
            work = str(folder / f"work-{number}")
            resources = ("--cores", "1", "--memory", "1g", "--work-dir", work)
            processes.append(_start(folder, "worker", *resources, url, log=f"worker-{number}.log"))
        _await_workers(folder / "master.log")
        yield url
    finally:
        _end(processes)


def submit(cluster: str, folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program, from this directory, in the way that docs/deploy.md says."""
    small = ("--driver-memory", "1g", "--executor-memory", "512m", "--conf", "spark.ui.enabled=false")
    return subprocess.run(
        [SPARK_HOME / "bin" / "spark-submit", "--master", cluster, *small, *arguments],
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )


def _start(folder: Path, role: str, *arguments: str, log: str = "master.log") -> "subprocess.Popen[bytes]":
    java_class = f"org.apache.spark.deploy.{role}.{role.capitalize()}"
    with (folder / log).open("wb") as said:
        return subprocess.Popen(
            [SPARK_HOME / "bin" / "spark-class", java_class, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
            env=clean_environment(SPARK_DAEMON_MEMORY="256m"),
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _await_workers(log: Path) -> None:
    until(lambda: log.read_text().count("Registering worker") >= WORKERS, f"no workers, see {log}")


def _end(processes: list["subprocess.Popen[bytes]"]) -> None:
    family = [child for process in processes for child in psutil.Process(process.pid).children(recursive=True)]
    for process in processes:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(HANG_SECONDS)
    _, left = psutil.wait_procs(family, HANG_SECONDS)
    assert not left, f"still there: {left}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
