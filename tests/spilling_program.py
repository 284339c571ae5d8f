"""A program with a query that spills, in a process of its own: python spilling_program.py SPILL_DIR WHAT

It says when rows are on disk, waits for a line, and says how many results there were in all. WHAT it does besides:
nothing, handle signals itself, or fork children that let go of the query in various ways.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import sooner
from queries import gated, numbered, wait_for
from sooner.errors import SoonerError

LEFT, RIGHT = numbered(6000, name="a", seed=1), numbered(6000, name="b", seed=2)
CHILDREN = 6


def say(text: str) -> None:
    """Also in a handler of signals, which may come in the middle of it: so without a buffer."""
    os.write(sys.stdout.fileno(), f"{text}\n".encode())


def count_rows(spill_dir: str) -> None:
    with sooner.join(LEFT, RIGHT, on="k", memory="64KB", spill_dir=spill_dir) as query:
        batches = iter(query)
        n_rows = next(batch.num_rows for batch in batches if query.progress.spilled_rows)
        say("spilled")
        sys.stdin.readline()
        say(f"read on to the end: {sum(batch.num_rows for batch in batches) + n_rows > 0}")


def count_rows_while_children_come_and_go(spill_dir: str) -> None:
    """While the sources are silent: runs are merged, and joined on the way, with files open."""
    enough = threading.Event()
    sides = [gated(table, wait_for(enough)) for table in (LEFT, RIGHT)]
    query = sooner.join(*sides, on="k", algorithm="hmj", memory="64KB", partitions=8, spill_dir=spill_dir, workers=1)
    batches, n_rows, n_children = iter(query), 0, 0
    for batch in batches:
        n_rows += batch.num_rows
        if query.progress.phase == "reactive" and n_children < CHILDREN:
            if (child := os.fork()) == 0:
                let_go(query, batches, n_children)
                sys.exit(0)  # with all that an interpreter does at its end
            assert os.waitpid(child, 0)[1] == 0
            n_children += 1
        if n_children == CHILDREN:
            enough.set()
    say(f"{n_children} children, {n_rows} rows")


def let_go(query: sooner.Query, batches: Iterator[pa.RecordBatch], number: int) -> None:
    if number % 3 == 1:
        query.stop()
    if number % 3 == 2:
        try:
            next(batches)
        except SoonerError as error:
            assert "in a forked child, call join again" in str(error)
        else:
            os._exit(1)


def main(spill_dir: str, what: str) -> None:
    if what == "handles signals":
        signal.signal(signal.SIGTERM, lambda *_: say("noted"))
    if what == "joins in a thread":
        thread = threading.Thread(target=count_rows, args=(spill_dir,))
        thread.start()
        thread.join()
    elif what == "forks":
        count_rows_while_children_come_and_go(spill_dir)
    else:
        count_rows(spill_dir)
    left = [path.name for path in Path(spill_dir).iterdir()]
    say(f"left: {left}")


if __name__ == "__main__":
    main(*sys.argv[1:])
