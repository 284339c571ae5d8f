"""The code on the pages that need Spark, as it stands there."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from postgres_server import new_database, run_sql
from pyspark.sql import DataFrame, SparkSession

from page_settings import CUSTOMERS, ELSEWHERE, LINES, ORDERS, PRIORITIES, setting_of, write
from pages import PAGES, Setting, is_on_spark, run_page
from spark_joins import stream_of, write_files

ON_SPARK = [page for page in PAGES if is_on_spark(page)]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
# What pages that begin as the README does have of it, where it is run; tests/test_readme.py sees that it is the same.
OF_THE_README = "import sooner.spark as ss\nfrom sooner.spark import sinks, sources\n\nspark = ss.local_session()  # or"

SIDES = {
    "orders": ORDERS.append_column("order", pa.array(range(4))),
    "customers": CUSTOMERS.append_column("id", CUSTOMERS["customer"]).append_column("nation", pa.array([1, 2, 1])),
    "blocked": pa.table({"customer": [3]}),
    "payments": pa.table({"order": [1, 2], "paid": [120, 990]}),
    "trades": pa.table({"price": [1.0, 2.0], "symbol": ["A", "B"], "trade": [1, 2]}),
    "quotes": pa.table({"price": [1.02, 2.2], "symbol": ["A", "B"], "quote": [1, 2]}),
    "views": pa.table({"ad": [1, 2], "seen": [NOON, NOON], "user": [1, 2]}),
    "clicks": pa.table({"ad": [1], "clicked": [NOON + timedelta(minutes=3)]}),
    "users": pa.table({"id": [1, 2]}),
    "sales": pa.table({"id": [1, 2], "customer": [1, 2], "amount": [10, 200]}),
    "nations": pa.table({"nation": [1, 2], "country": ["Chile", "Ghana"]}),
    "returns": pa.table({"sale": [2]}),
    "events": pa.table({"customer": [3, 1], "cents": [500, 120]}),
}
KINDS = {
    **SIDES,
    "clicks": pa.table({"session": [1, 2]}),
    "orders": SIDES["orders"].append_column("session", pa.array(range(4))),
}
LOOK_UPS = {
    **SIDES,
    "sales": pa.table({"article": [1, 2], "sold_at": [NOON, NOON]}),
    "prices": pa.table({"article": [1, 1], "since": [NOON - timedelta(days=1), NOON], "price": [100, 120]}),
}
ESTIMATES = {
    "orders": pa.table({"cust": [1, 2], "cents": [10, 20], "order": [1, 2], "priority": ["high", "low"]}),
    "lines": pa.table({"order": [1, 2, 2], "price": [5, 10, 15]}),
}
TABLES: dict[str, dict[str, Any]] = {
    "docs/guides/kinds-of-joins.md": KINDS,
    "docs/guides/look-ups.md": LOOK_UPS,
    "docs/coming-from/flink.md": LOOK_UPS,
    "docs/guides/estimates.md": ESTIMATES,
}


def setting_on_spark(page: str, place: Path, spark: SparkSession) -> Setting:
    setting = setting_of(page, place)
    tables = TABLES.get(page, SIDES)
    setting.known.update(tables)
    setting.streams = {name: streamed(spark, place / "streams" / name, table) for name, table in tables.items()}
    database = new_database()
    run_sql(database, "CREATE TABLE customers AS SELECT id, 'customer ' || id AS name FROM generate_series(1, 3) AS id")
    setting.instead = {"/data/": f"{place}/", '"orders/"': f'"{place}/orders/"', "dbname=shop": database}
    return setting


def streamed(spark: SparkSession, folder: Path, table: pa.Table) -> DataFrame:
    folder.parent.mkdir(exist_ok=True)
    write_files(table, folder, files=1)
    return stream_of(spark, folder)


def the_files_there_are(place: Path) -> None:
    (place / "orders").mkdir()
    pq.write_table(SIDES["orders"], place / "orders" / "part.parquet")
    customers = SIDES["customers"].append_column("segment", pa.array(["A", "B", "A"]))
    orders = PRIORITIES.append_column("customer", pa.array([1 + at % 3 for at in range(PRIORITIES.num_rows)]))
    write(place, lineitem=LINES, orders=orders, customers=customers)
    for name in ("customers", "customers_delta"):
        write_deltalake(place / name, customers, configuration={"delta.enableChangeDataFeed": "true"})


LONG = {"docs/tutorial.md"}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.long] if page in LONG else []) for page in ON_SPARK]
)
def test_the_code_of_a_page_runs_on_spark(
    page: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    the_files_there_are(tmp_path)
    elsewhere = tuple(ELSEWHERE) if page == "README.md" else (*ELSEWHERE, OF_THE_README)
    run_page(page, tmp_path, setting_on_spark(page, tmp_path, spark), elsewhere)
