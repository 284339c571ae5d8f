"""What docs/deploy.md says, on a standalone cluster: each way in which sooner gets to the nodes, and its absence."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sooner
from spark_cluster import Cluster, standalone_cluster, submit
from spark_joins import rows_of

PACKAGE = Path(sooner.__file__).parent
PROGRAM = Path(__file__).parents[2] / "examples" / "on_a_cluster.py"

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Site:
    """A cluster, a directory that all its nodes reach, and a Python there with all but sooner."""

    cluster: Cluster
    folder: Path
    python: str

    def require_right_answer(self, spark: SparkSession, name: str, *arguments: str, **environment: str) -> None:
        inputs, place = self.folder / "inputs", self.folder / name
        ended = submit(self.cluster, self.folder, *arguments, str(PROGRAM), str(inputs), str(place), **environment)
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
        assert "replaced a previously registered data source" not in ended.stderr
        orders, customers = (spark.read.parquet(str(inputs / f"{side}.parquet")) for side in ("orders", "customers"))
        expected = orders.join(customers, on="customer").select("order", "customer", "region")
        assert rows_of(spark.read.parquet(str(place / "joined"))) == rows_of(expected)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("cluster")
    write_inputs(folder / "inputs")
    python = python_without_sooner(folder / "bare")
    with standalone_cluster(folder) as cluster:
        yield Site(cluster, folder, python)


def write_inputs(folder: Path) -> None:
    folder.mkdir()
    rng = np.random.default_rng(0)
    orders = {"order": np.arange(60_000), "customer": rng.integers(0, 6_000, 60_000)}
    customers = {"customer": rng.permutation(6_000), "region": rng.integers(0, 7, 6_000)}
    pq.write_table(pa.table(orders), folder / "orders.parquet")
    pq.write_table(pa.table(customers), folder / "customers.parquet")


def python_without_sooner(folder: Path) -> str:
    """An environment that has what this one has installed; sooner is not, it is found by a path file of its own."""
    venv.create(folder)
    python = folder / "bin" / "python"
    (packages_of(folder) / "installed.pth").write_text(sysconfig.get_path("purelib"))
    imported = subprocess.run([python, "-c", "import pyspark, pyarrow, numpy, xxhash"], cwd=folder)
    assert imported.returncode == 0
    lacking = subprocess.run([python, "-P", "-c", "import sooner"], cwd=folder, env={}, capture_output=True)
    assert b"No module named 'sooner'" in lacking.stderr
    return str(python)


def packages_of(folder: Path) -> Path:
    [packages] = folder.glob("lib/python*/site-packages")
    return packages


def test_installed_on_every_node(spark: SparkSession, site: Site) -> None:
    venv.create(site.folder / "whole")
    (packages_of(site.folder / "whole") / "installed.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n{PACKAGE.parent}"
    )
    python = str(site.folder / "whole" / "bin" / "python")
    site.require_right_answer(spark, "installed", PYSPARK_PYTHON=python)


def test_sent_along_as_a_zip(spark: SparkSession, site: Site) -> None:
    subprocess.run([sys.executable, "-m", "zipfile", "-c", site.folder / "sooner.zip", PACKAGE], check=True)
    site.require_right_answer(spark, "zipped", "--py-files", "sooner.zip", PYSPARK_PYTHON=site.python)


def test_sent_along_as_an_environment(spark: SparkSession, site: Site) -> None:
    environment = site.folder / "environment"
    python_without_sooner(environment)
    shutil.copytree(PACKAGE, packages_of(environment) / "sooner", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["tar", "-czf", "environment.tar.gz", "-C", "environment", "."], cwd=site.folder, check=True)
    archive = "environment.tar.gz#environment"
    python = "./environment/bin/python"
    site.require_right_answer(spark, "archived", "--archives", archive, PYSPARK_PYTHON=python)


def test_without_it_the_program_is_refused_in_a_sentence(site: Site) -> None:
    place = site.folder / "refused"
    driver = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": str(PACKAGE.parent)}
    program = (str(PROGRAM), str(site.folder / "inputs"), str(place))
    ended = submit(site.cluster, site.folder, *program, PYSPARK_PYTHON=site.python, **driver)
    assert ended.returncode == 1
    [sentence] = [line for line in ended.stdout.splitlines() if line.startswith("sooner.spark.session.prerequisites.")]
    for mention in ("UnfitSession", site.python, "No module named 'sooner'", "docs/deploy.md", "PYSPARK_PYTHON"):
        assert mention in sentence
    assert not place.exists()
