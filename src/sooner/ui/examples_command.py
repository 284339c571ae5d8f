"""The command `sooner examples`: small tables and an algorithm, with which each example of --help works."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.plain_text import plain_text
from sooner.ui.new_files import folder

ORDERS: Final = 1_000
NAMES: Final = ("Ada", "Alan", "Barbara", "Donald", "Edsger", "Grace", "Ken", "Leslie", "Margaret", "Niklaus")
NATIONS: Final = ("Chile", "Ghana", "Japan", "Norway")
ARRIVALS: Final = 4_000
ALGORITHM_FILE: Final = "mine.py"
ALGORITHM: Final = '''"""The smallest partitions leave memory, and runs are merged in silence."""

import sooner
from sooner.policies.flush.smallest import Smallest
from sooner.policies.react.merge import Merge

mine = sooner.Algorithm("mine", flush=Smallest("both sides"), react=Merge())
'''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=folder, default=Path(), metavar="FOLDER", help="by default the present one"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    there = [name for name in (*TABLES, ALGORITHM_FILE) if (options.folder / name).exists()]
    if there:
        raise InvalidCall(f"{options.folder / there[0]} is there already; give a folder that has no such file.")
    for file, table in write_examples(options.folder).items():
        print(f"wrote {plain_text(file)}: {table.num_rows:,} rows of {', '.join(table.column_names)}")
    (options.folder / ALGORITHM_FILE).write_text(ALGORITHM)
    print(f"wrote {plain_text(options.folder / ALGORITHM_FILE)}: an algorithm, for the lab")
    return 0


def write_examples(folder: Path) -> dict[Path, pa.Table]:
    written = {folder / name: make() for name, make in TABLES.items()}
    for file, table in written.items():
        _write(table, file)
    return written


def orders() -> pa.Table:
    customers = [1 + 7 * order % (len(NAMES) + 1) for order in range(ORDERS)]  # one of which is not known
    cents = [100 + 37 * order % 900 for order in range(ORDERS)]
    return pa.table({"order": range(ORDERS), "customer": customers, "cents": cents})


def customers() -> pa.Table:
    nations = [1 + at % len(NATIONS) for at in range(len(NAMES))]
    return pa.table({"customer": range(1, len(NAMES) + 1), "name": NAMES, "nation": nations})


def nations() -> pa.Table:
    return pa.table({"nation": range(1, len(NATIONS) + 1), "country": NATIONS})


def arrivals() -> pa.Table:
    """In bursts of a hundred rows, a millisecond apart, with a second of silence after each."""
    dice = np.random.default_rng(0)
    places = np.arange(ARRIVALS)
    sides = np.where(dice.random(ARRIVALS) < 0.5, "left", "right")
    keys = dice.zipf(1.5, ARRIVALS) % 500
    return pa.table({"seconds": places / 1000 + places // 100, "side": sides, "key": keys})


TABLES: Final[dict[str, Callable[[], pa.Table]]] = {
    "orders.parquet": orders,
    "customers.csv": customers,
    "nations.csv": nations,
    "arrivals.csv": arrivals,
}


def _write(table: pa.Table, file: Path) -> None:
    if file.suffix == ".csv":
        import pyarrow.csv as arrow_csv

        arrow_csv.write_csv(table, file)
        return
    import pyarrow.parquet as arrow_parquet

    arrow_parquet.write_table(table, file)
