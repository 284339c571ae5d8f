"""Orders and their lines from TPC-H, the benchmark that database people know, made by `tpchgen-cli` in a second or two.

Not covered: the other tables, and the columns of comments, which would only make rows longer.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from sooner.errors import SoonerError
from sooner.extras import missing

SCALE: Final = 0.03  # 180,000 lines: enough to watch for half a minute
GENERATOR: Final = "tpchgen-cli"
COLUMNS: Final = {
    "lineitem": (
        "l_orderkey",
        "l_linenumber",
        "l_partkey",
        "l_quantity",
        "l_extendedprice",
        "l_discount",
        "l_shipdate",
        "l_shipmode",
    ),
    "orders": ("o_orderkey", "o_custkey", "o_orderstatus", "o_totalprice", "o_orderdate", "o_orderpriority"),
}


class GeneratorFailed(SoonerError):  # noqa: N818
    """The tables could not be made."""


@dataclass(frozen=True)
class Table:
    """A table in a Parquet file."""

    file: Path
    rows: int
    n_bytes: int  # in memory, as Arrow has them

    def head(self, rows: int, file: Path) -> "Table":
        """Its first rows as a table in a file of their own."""
        return _written(pq.read_table(self.file).slice(0, rows), file)


def make_tables(folder: Path, scale: float) -> tuple[Table, Table]:
    """`lineitem` and `orders` of this scale factor; 1 is 6 million lines."""
    raw = folder / "raw"
    command = [_generator(), "parquet", "--quiet", "-s", str(scale), "-T", ",".join(COLUMNS), "-o", str(raw)]
    made = subprocess.run(command, capture_output=True, text=True, start_new_session=True)  # Ctrl-C is not for it
    if made.returncode != 0:
        raise GeneratorFailed(f"{GENERATOR} could not make tables of scale {scale}: {made.stderr.strip()}")
    lines, orders = (
        _written(_readable(pq.read_table(raw / f"{name}.parquet", columns=list(columns))), folder / f"{name}.parquet")
        for name, columns in COLUMNS.items()
    )
    shutil.rmtree(raw)
    return lines, orders


def tables_in(folder: Path) -> tuple[Table, Table]:
    """Those that `make_tables` has made there."""
    lines, orders = (_known(pq.read_table(file), file) for file in (folder / f"{name}.parquet" for name in COLUMNS))
    return lines, orders


def _generator() -> str:
    """The command beside the Python that runs this, whether its environment is active or not; else any on the path."""
    found = _found_generator()
    if found is None:
        raise missing(GENERATOR, "The demo", "demo")
    return found


def has_generator() -> bool:
    return _found_generator() is not None


def _found_generator() -> str | None:
    return shutil.which(GENERATOR, path=str(Path(sys.executable).parent)) or shutil.which(GENERATOR)


def _readable(table: pa.Table) -> pa.Table:
    """Spark has no views of strings."""
    fields = [field.with_type(pa.string()) if field.type == pa.string_view() else field for field in table.schema]
    return table.cast(pa.schema(fields))


def _written(table: pa.Table, file: Path) -> Table:
    """One row group: a replay in random order shuffles inside row groups only."""
    pq.write_table(table, file, row_group_size=max(table.num_rows, 1))
    return _known(table, file)


def _known(table: pa.Table, file: Path) -> Table:
    return Table(file, table.num_rows, table.nbytes)
