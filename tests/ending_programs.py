"""Programs that end while threads of theirs are inside a source: python ending_programs.py DIRECTORY

Each of PROGRAMS runs in a process of its own, forked when everything has been imported, and ends as a script does. Then
it says how each of them ended, as JSON: code, stdout, stderr, and the seconds that it took after its last word.
"""

import atexit
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import sooner

TABLE = pa.table({"k": range(1000), "n": range(1000)})
LONG_SECONDS = 60.0
held: list[Any] = []  # as a script holds its queries


def say(what: object) -> None:
    print(what)  # noqa: T201


def reader(then: Callable[[], object], n_batches: int = 1) -> pa.RecordBatchReader:
    """Some rows, and then whatever happens instead of more."""

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(n_batches):
            yield from TABLE.to_batches()
        while True:
            then()

    return pa.RecordBatchReader.from_batches(TABLE.schema, batches())


def restless() -> pa.RecordBatchReader:
    """It wakes all the time, and so also at the very moment when the interpreter ends."""
    return reader(lambda: time.sleep(0.001))


def query(left: object = None, right: object = None, **arguments: Any) -> sooner.Query:
    sides = [restless() if side is None else side for side in (left, right)]
    held.append(sooner.join(*sides, on="k", **arguments))
    return held[-1]


def fail() -> None:
    raise OSError("the cable is cut")


def head() -> None:
    say(query().head(3).num_rows)


def sleeps() -> None:
    say(query(reader(lambda: time.sleep(LONG_SECONDS))).head(3).num_rows)


def breaks() -> None:
    for batch in query():
        held.append(batch)
        break


def leaves_much_undone() -> None:
    many = pa.table({"k": [n % 10 for n in range(20_000)]})
    held.append(next(iter(query(many, many, workers=2, memory="1MB"))))


def estimates() -> None:
    tables = {"sampling": "rows", "total_rows": (10**6, 10**6)}
    found = sooner.estimate(restless(), restless(), on="k", aggregates={"n": "count"}, seconds=0.01, **tables)
    say(len([one.rows for one in found]) > 0)


def source_fails() -> None:
    query(reader(fail)).to_table()


def exits_in_the_loop() -> None:
    for _ in query():
        sys.exit(3)


def exits_in_a_trace() -> None:
    query(trace=lambda _: sys.exit(4)).to_table()


def is_interrupted() -> None:
    for _ in query():
        signal.raise_signal(signal.SIGINT)


def reads_in_a_daemon() -> None:
    def read() -> None:
        pa.table(query())
        say("That was all.")

    threading.Thread(target=read, daemon=True).start()
    time.sleep(0.2)


def reads_in_a_thread() -> None:
    def read() -> None:
        time.sleep(0.2)
        say(query(TABLE, TABLE).to_table().num_rows)

    threading.Thread(target=read).start()


def joins_a_join() -> None:
    say(query(query(suffixes=("", "_2")).to_reader(), TABLE).head(3).num_rows)


def forks() -> None:
    batches = iter(query())
    next(batches)
    if (child := os.fork()) == 0:
        sys.exit(5)
    say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def tidies_up() -> None:
    atexit.register(lambda: say(query().head(3).num_rows))
    next(iter(query()))


PROGRAMS = (
    head, sleeps, breaks, leaves_much_undone, estimates, source_fails, exits_in_the_loop, exits_in_a_trace,
    is_interrupted, reads_in_a_daemon, reads_in_a_thread, joins_a_join, forks, tidies_up,
)  # fmt: skip


def main(where: Path) -> None:
    gc.freeze()  # what was imported takes long to be taken apart again
    children = {}
    for program in PROGRAMS:
        if (child := os.fork()) == 0:
            for stream, name in ((sys.stdout, "stdout"), (sys.stderr, "stderr")):
                with (where / f"{program.__name__}.{name}").open("w") as file:
                    os.dup2(file.fileno(), stream.fileno())
            try:
                program()
            finally:
                (where / f"{program.__name__}.ended").touch()
            return
        children[child] = program.__name__
    ends = {}
    while children:
        child, status = os.wait()
        name = children.pop(child)
        seconds = time.time() - (where / f"{name}.ended").stat().st_mtime
        said = {stream: (where / f"{name}.{stream}").read_text() for stream in ("stdout", "stderr")}
        ends[name] = {"code": os.waitstatus_to_exitcode(status), "seconds": seconds, **said}
    say(json.dumps(ends))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
