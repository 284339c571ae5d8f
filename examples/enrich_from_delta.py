"""Look up a stream in a Delta table, change the table while the query runs, and see later rows meet what is new.

python examples/enrich_from_delta.py        (with the extras spark and delta)
"""

import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

import sooner.spark as ss

FEED = {"delta.enableChangeDataFeed": "true"}  # without it, changes are read off the table's files


def main() -> None:
    spark = ss.local_session()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        articles = pa.table({"article": range(1_000), "price": [100] * 1_000})
        write_deltalake(folder / "articles", articles, configuration=FEED)
        sales = spark.readStream.format("rate").option("rowsPerSecond", 500).load()
        sales = sales.selectExpr("value AS sale", "value % 1000 AS article")
        priced = ss.enrich(
            sales,
            str(folder / "articles"),
            on="article",
            how="left",
            follow=True,
            columns=["price", "_commit_version"],
            memory="64MB",
            state=folder / "state",
        )
        writer = priced.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
        with ss.start(writer, str(folder / "priced")) as query:
            wait_for(query, rows=2_000)
            table = DeltaTable(folder / "articles")
            table.update(predicate="article < 500", updates={"price": "120"})
            table.delete("article >= 900")
            print(f"The table is at version {table.version()} now.")
            arrived = query.progress.total.arrived_rows[0] if query.progress else 0
            wait_for(query, rows=arrived + 5_000)
        found = pq.read_table(folder / "priced").sort_by("sale").to_pandas()
        print(found.groupby(["price", "_commit_version"], dropna=False).size())


def wait_for(query: ss.Query, rows: int) -> None:
    while query.isActive and (query.progress is None or query.progress.total.arrived_rows[0] < rows):
        time.sleep(0.2)


if __name__ == "__main__":
    main()
