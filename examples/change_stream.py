"""Look events up in a table while changes of it come in: each event meets the price that is valid when it arrives.

python examples/change_stream.py

Changes have a version, so that they may come twice or out of order, and say of a row that it is gone.
"""

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import sooner
from sooner import sources

ARTICLES = pa.table({"article": [1, 2, 3], "price": [100, 200, 300], "version": [0, 0, 0]})
CHANGE = pa.schema([("article", pa.int64()), ("price", pa.int64()), ("version", pa.int64()), ("gone", pa.bool_())])
SALE = pa.schema([("sale", pa.int64()), ("article", pa.int64())])


def changes() -> Iterator[dict[str, Any]]:
    time.sleep(0.5)
    yield {"article": 1, "price": 120, "version": 2, "gone": False}
    yield {"article": 1, "price": 110, "version": 1, "gone": False}  # comes late, and is out of date already
    yield {"article": 3, "price": None, "version": 3, "gone": True}


def sales() -> Iterator[dict[str, Any]]:
    for sale in range(6):
        yield {"sale": sale, "article": 1 + sale % 3}
        time.sleep(0.25)


def main() -> None:
    priced = sooner.enrich(
        sources.rows(sales(), schema=SALE),
        ARTICLES,
        on="article",
        how="left",
        columns=["price"],
        changes=sources.rows(changes(), schema=CHANGE),
        identity="article",
        version="version",
        deleted="gone",
    )
    for batch in priced:
        for row in batch.to_pylist():
            print(row, flush=True)


if __name__ == "__main__":
    main()
