"""Spark Connect: a program of its own, which has no Java, and a server inside the Java of the other tests."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

import connect_driver
from queries import refused
from sooner.spark.session.connect import UnfitSession, require_same_version

pytest.importorskip("grpc", reason="Spark Connect needs it: pip install 'sooner[connect]'")
QUICK = ("join", "readings")
Client = Any


@pytest.fixture(scope="module")
def client(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    port = spark.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    errors = tmp_path_factory.mktemp("client") / "errors"
    with errors.open("w") as file:
        program = [sys.executable, str(connect_driver.__file__), f"sc://127.0.0.1:{port}"]
        process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
        )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in connect_driver.TRIED]
)
def test_a_client_without_java(client: Client, name: str, tmp_path: Path) -> None:
    client.stdin.write(f"{name} {tmp_path}\n")
    client.stdin.flush()
    failed = json.loads(client.stdout.readline())
    assert not failed, failed


def test_a_program_whose_server_is_in_its_environment(spark: SparkSession) -> None:
    """No Java is started beside it."""
    look = (
        "import sooner.spark as ss; from pyspark import SparkContext; from sooner.errors import SoonerError; "
        "there = ss.local_session(); "
        "print(type(there).__module__, ss.local_session() is there, SparkContext._gateway)\n"
        "try: ss.local_session('local[2]')\nexcept SoonerError as error: print(error)"
    )
    port = spark.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    environment = {**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{port}"}
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True)
    session, refusal = done.stdout.splitlines()
    assert session == "pyspark.sql.connect.session True None"
    assert "master is 'local[2]'" in refusal
    assert "unset SPARK_REMOTE" in refusal


def test_a_server_of_another_version_is_refused_with_the_cure() -> None:
    server = type("SparkSession", (), {"version": "3.9.1"})
    with refused(UnfitSession, "Spark 3.9.1", pyspark.__version__, "pip install 'pyspark[connect]==3.9.*'"):
        require_same_version(server())
    require_same_version(type("SparkSession", (), {"version": pyspark.__version__})())
