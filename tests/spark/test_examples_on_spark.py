"""The programs in `examples/` that need Spark, each in a process of its own; of Kafka's what comes after Kafka."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from pages import ROOT
from spark_joins import ended, rows_of, stream_of, write_files

EXAMPLES = ROOT / "examples"
SAYS = {
    "on_spark.py": "200,000 results, and no order is without its customer",
    "clicks_and_impressions.py": "views are decided",
    "enrich_from_delta.py": "120",
    "enrich_from_postgres.py": "of customers that are not in the table",
}


@pytest.mark.long
@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_should(name: str) -> None:
    command = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True)
    assert command.returncode == 0, command.stderr
    assert SAYS[name] in command.stdout


def test_what_comes_after_kafka_joins_messages_as_spark_gives_them(spark: SparkSession, tmp_path: Path) -> None:
    messages = {
        "orders": ['{"order": 1, "customer": 3, "cents": 500}', '{"order": 2, "customer": 1, "cents": 120}'],
        "payments": ['{"order": 2, "paid": 120}', '{"order": 3, "paid": 7}'],
    }
    for topic, values in messages.items():
        write_files(pa.table({"value": pa.array([one.encode() for one in values], pa.binary())}), tmp_path / topic, 1)
    orders, payments = (stream_of(spark, tmp_path / topic) for topic in messages)
    paid = program("kafka").join_topics(orders, payments, str(tmp_path))
    writer = paid.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = ss.start(writer, str(tmp_path / "paid"))
    query.finish("left")
    query.finish("right")
    ended(query)
    assert rows_of(spark.read.parquet(str(tmp_path / "paid"))) == {("2", "1", "120", "120"): 1}


def program(name: str) -> ModuleType:
    spec = spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
