"""A program that spark-submit runs on two executors: it has the session that it was given, and both share the work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as arrow_dataset
import pyspark
import pytest

import spark_driver
from patience import HANG_SECONDS
from spark_joins import QUICK_START

MASTER = "local-cluster[2,1,1024]"
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
BATCHES = 2


@pytest.mark.long  # a session of its own with two more processes: a minute
def test_a_submitted_program_keeps_its_master_and_two_executors_share_the_state_and_one_limit_of_shared_memory(
    tmp_path: Path,
) -> None:
    said = submitted(tmp_path, "Spark's source", "inner")
    assert "'local[5]'" in said[-3]
    assert repr(MASTER) in said[-3]
    assert said[-2] == f"{MASTER} 3"
    seen = json.loads(said[-1])
    daemons = {path.name for path in (tmp_path / "daemons").iterdir()}
    assert len(daemons) == 2
    assert {name.split("-")[1] for name in seen["owners"]} == daemons
    assert 0 < max(seen["copies_bytes"]) <= spark_driver.MEMORY_BYTES
    expected = spark_driver.LEFT.join(spark_driver.RIGHT, "k", join_type="inner")
    written = arrow_dataset.dataset(tmp_path / "output", format="parquet").to_table(expected.column_names)
    each = [(name, "ascending") for name in expected.column_names]
    assert written.sort_by(each) == expected.sort_by(each)


def submitted(folder: Path, way: str, how: str) -> list[str]:
    """What the program says, by lines."""
    small = [f"--driver-java-options={QUICK_START}", f"--conf=spark.executor.extraJavaOptions={QUICK_START}"]
    small += ["--conf=spark.ui.enabled=false"]
    program = [spark_driver.__file__, folder, spark_driver.SUBMITTED, str(BATCHES), way, how]
    ended = subprocess.run(
        [SUBMIT, f"--master={MASTER}", *small, *program],
        env={**os.environ, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout.splitlines()
