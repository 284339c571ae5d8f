"""Join two sockets of JSON lines while they are written to, and show each result as soon as its rows have met.

python examples/sockets.py
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import sooner
from sooner import sources

ORDERS = pa.schema([("customer", pa.int64()), ("cents", pa.int64())])
CUSTOMERS = pa.schema([("customer", pa.int64()), ("name", pa.string())])


def rows_of(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """A row for each line, until the other end closes. A generator waits in a thread of its own, so this may too."""
    with connection, connection.makefile(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write(connection: socket.socket, rows: list[dict[str, Any]], pause: float) -> None:
    with connection:
        for row in rows:
            time.sleep(pause)
            connection.sendall(json.dumps(row).encode() + b"\n")


def main() -> None:
    (orders, orders_end), (customers, customers_end) = socket.socketpair(), socket.socketpair()
    some_orders = [{"customer": at % 3, "cents": 100 * at} for at in range(6)]
    some_customers = [{"customer": at, "name": name} for at, name in enumerate(("Ada", "Grace", "Edsger"))]
    for connection, rows, pause in ((orders_end, some_orders, 0.1), (customers_end, some_customers, 0.25)):
        threading.Thread(target=write, args=(connection, rows, pause)).start()

    query = sooner.join(
        sources.rows(rows_of(orders), schema=ORDERS), sources.rows(rows_of(customers), schema=CUSTOMERS), on="customer"
    )
    for batch in query:
        for row in batch.to_pylist():
            print(row, flush=True)


if __name__ == "__main__":
    main()
