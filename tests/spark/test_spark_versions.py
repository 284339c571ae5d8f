"""What an older Spark is given in place of what it lacks: tried on whichever is here; `make test-spark` tries each."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import (
    ArrayType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from queries import refused
from sooner.errors import InvalidJoin
from sooner.spark.session import versions
from sooner.spark.session.versions import WithMemory, arrow_schema_of, offset_in_progress, placed_by, require_trigger

Offset = dict[str, Any]


@pytest.mark.parametrize("version", [(4, 0), versions.VERSION])
def test_each_row_gets_to_the_partition_that_is_its_place(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(versions, "VERSION", version)
    places = spark.range(50).select((F.col("id") % 7).cast("int").alias("place"))
    rows = placed_by(places, 7, F.col("place")).select("place", F.spark_partition_id().alias("partition")).collect()
    assert len(rows) == 50
    assert all(row.place == row.partition for row in rows)


class Steps:
    """A reader of three rows at a time, ten in all."""

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"row": 0}

    def getDefaultReadLimit(self) -> int:  # noqa: N802
        return 3

    def latestOffset(self, start: Offset, limit: int) -> Offset:  # noqa: N802
        return {"row": min(10, start["row"] + limit)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [InputPartition((start["row"], end["row"]))]


def test_a_reader_goes_on_from_where_the_batch_before_ends() -> None:
    reader = WithMemory(Steps())
    ends = [reader.latestOffset()["row"] for _ in range(5)]
    assert ends == [3, 6, 9, 10, 10]
    [share] = reader.partitions({"row": 3}, {"row": 6})
    assert share.value == (3, 6)
    assert reader.latestOffset() == {"row": 10}


@pytest.mark.parametrize("start", [3, 6])  # of a batch that runs again, or of none: the end of the last
def test_a_reader_that_goes_on_in_another_process_begins_where_the_log_ends(start: int) -> None:
    reader = WithMemory(Steps())
    assert len(reader.partitions({"row": start}, {"row": 6})) == (start < 6)
    assert reader.latestOffset() == {"row": 9}


def test_times_are_in_the_zone_of_the_session_at_any_depth() -> None:
    nested = StructType([StructField("t", TimestampType()), StructField("n", TimestampNTZType())])
    types = (LongType(), TimestampType(), ArrayType(nested), MapType(StringType(), TimestampType()))
    schema = StructType([StructField(str(at), type_) for at, type_ in enumerate(types)])
    moment, inside = pa.timestamp("us", "Asia/Tokyo"), pa.struct([("t", pa.timestamp("us", "Asia/Tokyo"))])
    found = arrow_schema_of(schema, "Asia/Tokyo").types
    assert found[:2] == [pa.int64(), moment]
    assert found[2].value_type.field(0).type == inside.field(0).type
    assert found[2].value_type.field(1).type == pa.timestamp("us")
    assert found[3].item_type == moment


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"row": 3, "ended": true}', {"row": 3, "ended": True}),
        ("{'row': 3, 'ended': True}", {"row": 3, "ended": True}),
        ("7", 7),
        ("None", None),
        (None, None),
        ("what only its source understands", None),
    ],
)
def test_an_offset_is_read_as_the_progress_has_it(text: str | None, offset: object) -> None:
    assert offset_in_progress(text) == offset


def test_a_trigger_that_an_older_spark_does_not_tell_of_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(versions, "SETS_LIMITS", False)
    rows = spark.readStream.format("rate").load().writeStream.format("noop")
    query = rows.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    with refused(InvalidJoin, "trigger(availableNow=True)", "leave it out", "Spark 4.2 or newer"):
        require_trigger(query)
    assert not query.isActive
