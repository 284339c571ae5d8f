"""One Spark session for all tests: starting one takes ten seconds."""

import socket
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from sooner.spark.session.session import local_session
from spark_joins import QUICK_BATCHES, QUICK_START


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark__driver__memory": "2g", "spark__driver__extraJavaOptions": QUICK_START, **QUICK_BATCHES}
    session = local_session("local[2,4]", spark__ui__enabled="true", **settings, **server_of_connect())
    yield session
    session.stop()


def server_of_connect() -> dict[str, str]:
    """In the same Java, for programs of Spark Connect."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plugin = "org.apache.spark.sql.connect.SparkConnectPlugin"
    return {"spark__plugins": plugin, "spark__connect__grpc__binding__port": str(port)}
