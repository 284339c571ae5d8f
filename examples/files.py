"""Join files: Parquet with CSV, into a new Parquet file, with a bar on the way.

python examples/files.py            (it makes its files in a temporary folder)
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

import sooner


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        orders = pa.table({"customer": [at % 1_000 for at in range(100_000)], "cents": range(100_000)})
        pq.write_table(orders, folder / "orders.parquet")
        arrow_csv.write_csv(pa.table({"customer": range(990), "since": range(990)}), folder / "customers.csv")

        query = sooner.join(folder / "orders.parquet", folder / "customers.csv", on="customer", how="left")
        query.progress_bar()
        written = query.write(folder / "joined.parquet")
        unknown = pq.read_table(folder / "joined.parquet")["since"].null_count
        print(f"{written:,} rows, {unknown:,} of customers that are not in the file")


if __name__ == "__main__":
    main()
