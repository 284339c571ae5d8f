"""A cluster that loses an executor, a worker with all on it, or the driver in the middle of a join: each pair once."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import cluster_driver
from killing import batches_begun
from patience import HANG_SECONDS, until
from spark_cluster import ERRORS, Cluster, kill, standalone_cluster, submitted

pytestmark = pytest.mark.long

Driver = subprocess.Popen[bytes]
Lose = Callable[[Cluster, random.Random, Driver], None]


def an_executor(cluster: Cluster, dice: random.Random, _: Driver) -> None:
    executors = cluster.executors
    assert len(executors) == len(cluster.workers)
    dice.choice(executors).kill()


def a_worker(cluster: Cluster, dice: random.Random, _: Driver) -> None:
    cluster.kill_worker(dice.randrange(len(cluster.workers)))


def the_driver(_: Cluster, __: random.Random, driver: Driver) -> None:
    kill(driver)


@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("lose", [an_executor, a_worker, the_driver], ids=lambda lose: lose.__name__)
def test_what_a_cluster_can_lose(spark: SparkSession, tmp_path: Path, lose: Lose, how: str) -> None:
    dice = random.Random(f"{lose.__name__} {how}")
    state = str(tmp_path / "state")
    case = cluster_driver.case_in(spark, tmp_path, state, how)
    with standalone_cluster(tmp_path) as cluster:

        def started() -> Driver:
            arguments = (cluster_driver.__file__, str(tmp_path), "submitted", state, how)
            return submitted(cluster, tmp_path, *arguments, PYSPARK_PYTHON=sys.executable)

        driver = started()
        try:
            in_the_middle = dice.randint(3, cluster_driver.BATCHES - 3)
            until(lambda: driver.poll() is not None or batches_begun(tmp_path) >= in_the_middle, "no batch begins")
            assert driver.poll() is None
            lose(cluster, dice, driver)
            if lose is the_driver:
                driver = started()
            driver.wait(HANG_SECONDS)
        finally:
            kill(driver)
    errors = (tmp_path / ERRORS).read_text()
    assert driver.returncode == 0, errors[-4000:]
    assert lose is the_driver or "Lost executor" in errors
    assert case.written() == case.expected()
