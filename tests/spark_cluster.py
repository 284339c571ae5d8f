"""A standalone Spark cluster on this machine: a master and three workers, each in processes of its own."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark

from patience import HANG_SECONDS, until

EXECUTOR = "CoarseGrainedExecutorBackend"
SPARK_HOME = Path(pyspark.__file__).parent
WORKERS = 3
SAID, ERRORS = "said.log", "errors.log"
SMALL = ("--driver-memory", "1g", "--executor-memory", "512m", "--conf", "spark.ui.enabled=false")


@dataclass(frozen=True)
class Cluster:
    url: str
    workers: list["subprocess.Popen[bytes]"]

    @property
    def executors(self) -> list[psutil.Process]:
        """Of all applications that run."""
        family = [child for worker in self.workers for child in psutil.Process(worker.pid).children(recursive=True)]
        return [process for process in family if _is_executor(process)]

    def kill_worker(self, number: int) -> None:
        """It and the executors that it has started."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)


def clean_environment(**others: str) -> dict[str, str]:
    """That of this process, without what would let another Python find modules here."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    return {**kept, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", **others}


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """At the end all its processes are gone."""
    url = f"spark://127.0.0.1:{_free_port()}"
    processes = [_start(folder, "master", "--port", url.rpartition(":")[2])]
    try:
        for number in range(WORKERS):
            work = str(folder / f"work-{number}")
            resources = ("--cores", "1", "--memory", "1g", "--work-dir", work)
            processes.append(_start(folder, "worker", *resources, url, log=f"worker-{number}.log"))
        _await_workers(folder / "master.log")
        yield Cluster(url, processes[1:])
    finally:
        _end(processes)


def submit(cluster: Cluster, folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A program, from this directory, in the way that docs/deploy.md says; to its end."""
    driver = submitted(cluster, folder, *arguments, **environment)
    try:
        driver.wait(HANG_SECONDS)
    finally:
        kill(driver)
    said, errors = ((folder / name).read_text() for name in (SAID, ERRORS))
    return subprocess.CompletedProcess(driver.args, driver.returncode, said, errors)


def submitted(cluster: Cluster, folder: Path, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    """A program that runs, in a process group of its own. What it says is in files of this directory."""
    with (folder / SAID).open("wb") as said, (folder / ERRORS).open("wb") as errors:
        return subprocess.Popen(
            [SPARK_HOME / "bin" / "spark-submit", "--master", cluster.url, *SMALL, *arguments],
            cwd=folder,
            env=clean_environment(**environment),
            stdout=said,
            stderr=errors,
            start_new_session=True,
        )


def _is_executor(process: psutil.Process) -> bool:
    try:
        return EXECUTOR in " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return False


def kill(driver: "subprocess.Popen[bytes]") -> None:
    """It and its Java, if they still run."""
    with suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait(HANG_SECONDS)


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
    running = [psutil.Process(process.pid) for process in processes if process.poll() is None]
    family = [child for process in running for child in process.children(recursive=True)]
    for process in processes:
        with suppress(ProcessLookupError):  # one that a test has killed
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(HANG_SECONDS)
    _, left = psutil.wait_procs(family, HANG_SECONDS)
    assert not left, f"still there: {left}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
