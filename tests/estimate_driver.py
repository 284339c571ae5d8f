"""An estimate on Spark, and the exact answer by Spark; as a program it can be killed: python estimate_driver.py FOLDER

It goes on from the checkpoint in the folder, if there is one.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner
import sooner.spark as ss
from spark_joins import NAMES, killable_session, stream_of, write_files

Write = Callable[[DataFrame, int], None]
ROWS, FEW, BATCHES = 6000, 1500, 5
BY = ["g", "h"]
WHERE = "q < 40 and w > 1"
AGGREGATES = {"n": "count", "s": ("sum", "price * w"), "q": ("sum", "q"), "a": ("avg", "q")}


def tables() -> tuple[pa.Table, pa.Table]:
    dice = np.random.default_rng(7)

    def keys(rows: int) -> pa.Array:
        texts = [f"key {number}" for number in dice.integers(0, 800, rows)]
        return pa.array([None if at % 50 == 0 else text for at, text in enumerate(texts)])

    prices = [Decimal(int(cents)) / 100 for cents in dice.integers(1, 10**7, ROWS)]
    left = pa.table(
        {
            "k": keys(ROWS),
            "price": pa.array(prices, pa.decimal128(12, 2)),
            "q": pa.array(dice.integers(0, 50, ROWS), pa.int32()),
            "g": pa.array(dice.choice(["x", "y"], ROWS)),
            "unused": pa.array(["text"] * ROWS),
        }
    )
    right = pa.table(
        {
            "k": keys(FEW),
            "w": dice.integers(0, 10, FEW),
            "h": pa.array(dice.integers(9000, 9002, FEW).astype(np.int32), pa.date32()),
        }
    )
    return left, right


@dataclass
class EstimateCase:
    spark: SparkSession
    folder: Path

    def __post_init__(self) -> None:
        for name, table in zip(NAMES, tables(), strict=True):
            if not (self.folder / name).exists():
                write_files(table, self.folder / name, BATCHES)

    @property
    def output(self) -> str:
        return str(self.folder / "output")

    def ours(self, name: str) -> DataFrame:
        return ss.sources.parquet(self.spark, str(self.folder / name), rows_per_batch=ROWS // BATCHES)

    def estimates(self, right: DataFrame | None = None, **changes: Any) -> DataFrame:
        """One side comes from our source, the other from Spark's unless it is given."""
        left, right = self.ours("left"), stream_of(self.spark, self.folder / "right") if right is None else right
        arguments: dict[str, Any] = {"aggregates": AGGREGATES, "by": BY, "where": WHERE, "partitions": 2}
        arguments |= {"memory": "256KB", "state": self.folder / "state", "total_rows": (ROWS, FEW)}
        arguments |= {"sampling": "rows"}
        return ss.estimate(left, right, "k", **arguments | changes)

    def start(self, estimates: DataFrame, write: Write | None = None, trigger: str | None = None) -> ss.Query:
        """Into files, or whatever `write` does with a batch. Spark's own source does not say when it is at its end."""
        writer, started = estimates.writeStream, list[ss.Query]()
        if trigger is not None:
            chosen: dict[str, Any] = {trigger: True}
            writer = writer.trigger(**chosen)
        sink = writer.foreachBatch(write) if write else writer.format("parquet").option("path", self.output)

        def listen(_: ss.JoinProgress) -> None:
            for query in started:
                if (found := query.estimate) is not None and found.rows == ROWS + FEW:
                    query.finish("right")

        checkpoint = str(self.folder / "checkpoint")
        started.append(ss.start(sink.option("checkpointLocation", checkpoint), listener=listen))
        return started[0]

    def written(self) -> list[Row]:
        """What counts of the files."""
        return self.spark.read.parquet(self.output).collect()

    def require_exact(self, found: sooner.Estimate | None) -> None:
        assert found is not None
        assert found.exact
        left, right = (self.spark.read.parquet(str(self.folder / name)) for name in NAMES)
        sums = [F.count("*"), F.sum(F.expr("price * w")), F.sum("q"), F.avg("q")]
        rows = left.join(right, "k").where(WHERE).groupBy(*BY).agg(*sums).collect()
        assert len(rows) == len(found.values) == 4
        for g, h, n, s, q, a in rows:
            values = {name: value.value for name, value in found.values[g, h].items()}
            assert (values["n"], values["s"], values["q"]) == (n, s, q)
            assert isinstance(values["s"], Decimal)
            assert isinstance(values["q"], int)
            assert math.isclose(values["a"], a, rel_tol=1e-14)


def main(folder: Path) -> None:
    case = EstimateCase(killable_session("local[2,4]"), folder)
    case.start(case.estimates()).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
