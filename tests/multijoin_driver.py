"""A join of many inputs on Spark for tests, with Spark's own batch join beside it; as a program it can be killed:

python multijoin_driver.py FOLDER

It goes on from the checkpoint in the folder, if there is one.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from patience import until
from sooner.asked.multijoins import KNOWN
from spark_joins import Rows, ended, killable_session, rows_of

SALES, CUSTOMERS, ARTICLES, NATIONS = 6_000, 900, 400, 20
MEMORY = "256KB"  # less than the rows take
ON = ["sales.customer = customers.customer", "sales.article = articles.article", "customers.nation = nations.nation"]


def tables() -> dict[str, pa.Table]:
    """A snowflake: with keys that are texts, some that are null or unknown, and one that is hot."""
    dice = np.random.default_rng(5)
    asked = np.where(dice.random(SALES) < 0.1, 3, dice.integers(0, CUSTOMERS + 100, SALES))
    customers = [None if at % 40 == 0 else f"customer {key:05}" for at, key in enumerate(asked.tolist())]
    return {
        "sales": pa.table(
            {"sale": np.arange(SALES), "customer": customers, "article": dice.integers(0, ARTICLES, SALES)}
        ),
        "customers": pa.table(
            {
                "customer": [f"customer {key:05}" for key in range(CUSTOMERS)],
                "nation": dice.integers(0, NATIONS + 5, CUSTOMERS),
            }
        ),
        "articles": pa.table({"article": dice.permutation(ARTICLES), "price": dice.integers(1, 9, ARTICLES)}),
        "nations": pa.table({"nation": np.arange(NATIONS), "name": [f"nation {at}" for at in range(NATIONS)]}),
    }


@dataclass
class MultiCase:
    """The inputs on disk, and where the query keeps its things."""

    spark: SparkSession
    folder: Path
    batches: int = 4
    arguments: dict[str, Any] = field(default_factory=dict)
    progress: list[ss.JoinProgress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for name, table in tables().items():
            if not self.path(name).exists():
                pq.write_table(table, self.path(name), row_group_size=200)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def inputs(self) -> dict[str, DataFrame]:
        return {
            name: ss.sources.parquet(
                self.spark, str(self.path(name)), rows_per_batch=-(-table.num_rows // self.batches)
            )
            for name, table in tables().items()
        }

    def joined(self) -> DataFrame:
        arguments = {"memory": MEMORY, "partitions": 2} | self.arguments
        return ss.multijoin(self.inputs(), on=ON, state=self.folder / "state", **arguments)

    def start(self) -> ss.Query:
        writer = (
            self.joined().writeStream.format("parquet").option("checkpointLocation", str(self.folder / "checkpoint"))
        )
        return ss.start(writer, str(self.folder / "output"), listener=self.progress.append)

    def run(self) -> ss.Query:
        """To its end."""
        query = self.start()
        ended(query)
        assert query.is_complete
        return query

    def run_until(self, reached: Callable[[ss.JoinProgress], bool]) -> None:
        """Stop it there, or a little later."""
        query = self.start()
        until(lambda: any(map(reached, self.progress)) or not query.isActive, "it does not get there")
        query.stop()
        assert not query.is_complete

    def written(self) -> Rows:
        written = self.spark.read.parquet(str(self.folder / "output"))
        return rows_of(written.select(*sorted(written.columns)))

    def expected(self) -> Rows:
        sales, customers, articles, nations = (self.spark.read.parquet(str(self.path(name))) for name in tables())
        joined = sales.join(customers, "customer").join(articles, "article").join(nations, "nation")
        return rows_of(joined.select(*sorted(joined.columns)))


def case_in(spark: SparkSession, folder: Path) -> MultiCase:
    """A folder with the name of an algorithm is for that."""
    arguments = {"algorithm": folder.name} if folder.name in KNOWN else {}
    return MultiCase(spark, folder, 6, arguments)


def require_right_answers(spark: SparkSession, folder: Path) -> None:
    """Of the query that goes on there."""
    case = case_in(spark, folder)
    case.run()
    assert case.written() == case.expected()


def main(folder: Path) -> None:
    case_in(killable_session("local[2,4]"), folder).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
