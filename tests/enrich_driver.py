"""Enrichments on Spark for tests, with Spark's own batch join beside them; as a program they can be killed:

python enrich_driver.py FOLDER

Then there are two, which go on from the checkpoints in the folder, if there are any: one whose master comes in many
batches, while rows of the stream wait, and one whose stream does.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from patience import until
from spark_joins import Rows, ended, killable_session, rows_of

MASTER_ROWS, STREAM_ROWS = 10_000, 4_000
MEMORY = "128KB"  # less than the keys of the master take
KILLED = ("slow master", "slow stream")
Progress = ss.JoinProgress


def tables() -> dict[str, pa.Table]:
    """Keys of a stream, of which some come often and some in vain, and of a master, which may have them several times.

    Some are null.
    """
    dice = np.random.default_rng(3)
    asked = (1.3 * MASTER_ROWS * dice.random(STREAM_ROWS) ** 3).astype(np.int64)
    known = dice.integers(0, MASTER_ROWS, MASTER_ROWS)
    notes = [f"note {n} " * 10 for n in range(MASTER_ROWS)]
    return {
        "stream": pa.table({"k": _with_nulls(asked), "a": np.arange(STREAM_ROWS)}),
        "master": pa.table({"k": _with_nulls(known), "b": np.arange(MASTER_ROWS), "note": notes}),
    }


def _with_nulls(keys: Any) -> pa.Array:
    return pa.array([None if place % 50 == 0 else key for place, key in enumerate(keys.tolist())], pa.int64())


@dataclass
class EnrichCase:
    """A stream and a master on disk, and where the query keeps its things."""

    spark: SparkSession
    folder: Path
    stream_batches: int = 4
    arguments: dict[str, Any] = field(default_factory=dict)
    progress: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for name, table in tables().items():
            if not self.path(name).exists():
                pq.write_table(table, self.path(name), row_group_size=500)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def stream(self) -> DataFrame:
        return ss.sources.parquet(
            self.spark, str(self.path("stream")), rows_per_batch=-(-STREAM_ROWS // self.stream_batches)
        )

    def slow_master(self, batches: int) -> DataFrame:
        """As a stream of its own."""
        return ss.sources.parquet(self.spark, str(self.path("master")), rows_per_batch=-(-MASTER_ROWS // batches))

    def batch(self, name: str) -> DataFrame:
        return self.spark.read.parquet(str(self.path(name)))

    def enriched(self, master: object = None, **changes: Any) -> DataFrame:
        defaults = {"on": "k", "memory": MEMORY, "partitions": 2, "state": self.folder / "state"}
        looked_up = self.path("master") if master is None else master
        return ss.enrich(self.stream(), looked_up, **defaults | self.arguments | changes)

    def start(self, master: object = None, **changes: Any) -> ss.Query:
        rows = self.enriched(master, **changes)
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(self.folder / "checkpoint"))
        return ss.start(writer, str(self.folder / "output"), listener=self.progress.append)

    def run(self, master: object = None, **changes: Any) -> ss.Query:
        """To its end."""
        query = self.start(master, **changes)
        ended(query)
        assert query.is_complete
        return query

    def run_until(self, reached: Callable[[Progress], bool], master: object = None, **changes: Any) -> None:
        """Stop it there, or a little later."""
        query = self.start(master, **changes)
        until(lambda: any(map(reached, self.progress)) or not query.isActive, "it does not get there")
        query.stop()
        assert not query.is_complete

    def held_rows(self) -> int:
        """Rows of the stream that wait in the state, by its newest version."""
        rows = 0
        for partition in (self.folder / "state").glob("partition-*"):
            _, state, _ = max(partition.glob("*.json")).read_bytes().split(b"\n")
            rows += sum(piece["n_rows"] for held in json.loads(state)["held"] for piece in held["pieces"])
        return rows

    def written(self) -> Rows:
        return rows_of(self.spark.read.parquet(str(self.folder / "output")))

    def expected(self, how: str = "inner") -> Rows:
        return rows_of(self.batch("stream").join(self.batch("master"), on="k", how=how))


def cases_in(spark: SparkSession, folder: Path) -> dict[str, tuple[EnrichCase, dict[str, Any]]]:
    """By name: each with what its query is started with."""
    slow_master = EnrichCase(spark, folder / KILLED[0], 2, {"how": "left"})
    slow_stream = EnrichCase(spark, folder / KILLED[1], 6, {"how": "inner", "algorithm": "ssbj"})
    return dict(zip(KILLED, [(slow_master, {"master": slow_master.slow_master(8)}), (slow_stream, {})], strict=True))


def start(spark: SparkSession, folder: Path, names: Sequence[str] = KILLED) -> dict[str, ss.Query]:
    cases = cases_in(spark, folder)
    return {name: cases[name][0].start(**cases[name][1]) for name in names}


def require_right_answers(spark: SparkSession, folder: Path, names: Sequence[str] = KILLED) -> None:
    """Of the queries that go on there."""
    cases = cases_in(spark, folder)
    for name, query in start(spark, folder, names).items():
        case, _ = cases[name]
        ended(query)
        assert query.is_complete
        assert case.written() == case.expected(case.arguments["how"]), name


def main(folder: Path) -> None:
    for query in start(killable_session("local[2,4]"), folder).values():
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
