"""What each page of the docs takes for granted: the files and tables that it speaks of, small."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

import sql_chain
from files import write_file
from pages import Setting
from sooner.ui.examples_command import write_examples

ORDERS: Final = pa.table({"customer": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
CUSTOMERS: Final = pa.table({"customer": [1, 2, 3], "name": ["Ada", "Grace", "Edsger"]})
LINES: Final = pa.table(
    {
        "l_orderkey": [1 + at % 200 for at in range(2_000)],
        "l_extendedprice": [10.0 + at % 90 for at in range(2_000)],
        "l_discount": [at % 10 / 100 for at in range(2_000)],
        "l_shipdate": [dt.date(1995, 1, 1) + dt.timedelta(at % 365) for at in range(2_000)],
    }
)
PRIORITIES: Final = pa.table(
    {"o_orderkey": range(1, 201), "o_orderpriority": [("1-URGENT", "2-HIGH", "5-LOW")[at % 3] for at in range(200)]}
)

# Blocks that another test runs: because they need more than a page (a cluster, minutes), or do not end by themselves.
ELSEWHERE: Final = {
    "pip install ": "tests/ui/test_plain_install.py",
    "make ": "tests/test_pages.py",  # which looks whether there are such targets
    "sooner lab run flush-a --scale 250 --algorithm mine:mine": "tests/ui/test_help.py",
    ".venv/bin/sooner lab list": "tests/ui/test_command_line.py",
    "sooner dashboard ": "tests/ui/test_dashboard_command.py",
    "PYSPARK_PYTHON=/opt/python/bin/python spark-submit": "tests/spark/test_deploy.py",
    "python -m zipfile": "tests/spark/test_deploy.py",
    "python -m venv": "tests/spark/test_deploy.py",
    "sooner state rescale": "tests/ui/test_state_commands.py",
}


def setting_of(page: str, place: Path) -> Setting:
    """Of a page without Spark."""
    if page.startswith("docs/algorithms/"):
        return _algorithm(place)
    return SETTINGS[page](place) if page in SETTINGS else Setting()


def write(place: Path, **tables: pa.Table) -> None:
    for name, table in tables.items():
        arrow_parquet.write_table(table, place / f"{name}.parquet")


def _in_process(place: Path) -> Setting:
    write_examples(place)
    arrow_csv.write_csv(ORDERS, place / "orders.csv")
    table = pa.table({"k": [1], "k1": [1], "k2": [2], "value": [3]})
    return Setting({"a": table, "b": table}, instead={"tail -f": "tail"})  # which would wait for more orders


def _inputs_and_results(place: Path) -> Setting:
    for day in ("2024-01-01", "2024-01-02"):
        folder = place / "orders" / f"day={day}"
        folder.mkdir(parents=True)
        write_file(ORDERS, folder / "rows.parquet")
    for name in ("orders.parquet", "orders.csv", "a.parquet", "b.parquet"):
        write_file(ORDERS, place / name)
    for name in ("customers.csv.gz", "customers.jsonl", "customers.tsv.zst", "customers.json"):
        write_file(CUSTOMERS.rename_columns(["customer", "known_as"]), place / name)
    return Setting()


def _many_tables(place: Path) -> Setting:
    (place / "lines").mkdir()
    lines = sql_chain.TABLES["lines"].append_column("line", sql_chain.TABLES["lines"]["id"])
    write(place / "lines", part=lines)
    write(place, customers=sql_chain.TABLES["customers"], returns=lines.slice(0, 50).select(["line"]))
    nations = sql_chain.TABLES["nations"].rename_columns(["id", "region", "name"])
    return Setting({"orders": sql_chain.TABLES["orders"], "nations": nations})


def _algorithm(place: Path) -> Setting:  # noqa: ARG001 - every setting has a place
    noon = dt.datetime(2026, 1, 1, 12)
    known = {
        "orders": ORDERS,
        "customers": CUSTOMERS.append_column("nation", pa.array([1, 2, 1])),
        "nations": pa.table({"nation": [1, 2], "country": ["Chile", "Ghana"]}),
        "events": ORDERS,
        "views": pa.table({"ad": [1, 2], "seen": [noon, noon]}),
        "clicks": pa.table({"ad": [1], "clicked": [noon + dt.timedelta(minutes=3)]}),
    }
    return Setting(known)


def _sql(place: Path) -> Setting:
    orders = pa.table({"id": [1, 2, 3, 4], "customer": [1, 2, 1, 9], "price": [10, 20, 30, 40]})
    write(place, orders=orders)
    arrow_csv.write_csv(pa.table({"id": [1, 2, 3], "name": ["Ada", "Alan", "Grace"]}), place / "customers.csv")
    return Setting()


def _example_files(place: Path) -> Setting:
    write_examples(place)
    return Setting()


SETTINGS: Final[dict[str, Callable[[Path], Setting]]] = {
    "docs/guides/in-process.md": _in_process,
    "docs/guides/sql.md": _many_tables,
    "docs/inputs-and-results.md": _inputs_and_results,
    "docs/sql.md": _sql,
    "docs/coming-from/duckdb.md": _example_files,
}
