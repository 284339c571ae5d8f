"""One Spark session for all tests: starting one takes ten seconds."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from sooner.spark.session.session import local_session
from spark_joins import QUICK_BATCHES, QUICK_START


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark__driver__memory": "2g", "spark__driver__extraJavaOptions": QUICK_START, **QUICK_BATCHES}
    session = local_session("local[2,4]", **settings)
    yield session
    session.stop()
