"""What is said of a join while it runs: how good the time left is, what a page costs that is open, how fast one opens.

    python benchmarks/dashboard.py --json results.json
    python benchmarks/dashboard.py --parts left --rows 500000 --repetitions 1

*left*: joins of files as in `local.py`, with memory for all, a tenth and a fortieth of the rows. After a tenth, a
quarter and half of the time that each took in the end, how long the progress bar said that it would still take, over
how long it did.

*page*: the join of 5 M x 5 M rows with an open dashboard that somebody reads, beside the same without, in turn: wall
and CPU seconds, and the most memory. Modules and the server are loaded before the clock starts.

*trace*: of a join of 100 M rows with memory for a tenth; from the call of `sooner dashboard TRACE` until the page has
its first state, and how much of it Python takes to load the modules.
"""

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from report import write_report

import sooner
from local import BYTES_PER_ROW, SHAPES, claim, cpu_seconds, peak_bytes, write_inputs
from sooner.ui.dashboard.time_left import Clock
from sooner.ui.query_bar import LOOK_SECONDS

LEFT_SHAPES = ["integers", "texts", "foreign_key", "skew", "wide"]
MEMORIES = {"all": None, "10%": 10, "2.5%": 40}  # of the rows fit: one part in so many
ALGORITHMS = ["rpj", "xjoin", "hmj", "pr_join"]
SHARES = [0.1, 0.25, 0.5]  # of the time
PAGE_ROUNDS = 8  # times as many repetitions: the difference is smaller than what neighbours make
TRACED_ROWS = 50_000_000  # of each side
Run = dict[str, Any]


def joined(folder: Path, rows: int, memory: str, algorithm: str = "rpj", **options: Any) -> sooner.Query:
    share = MEMORIES[memory]
    memory_bytes = None if share is None else 2 * rows * BYTES_PER_ROW // share
    files = [str(folder / f"{side}.parquet") for side in ("left", "right")]
    return sooner.join(*files, on="key", memory=memory_bytes, algorithm=algorithm, **options)


def time_left(folder: Path, rows: int, memory: str, algorithm: str) -> Run:
    """What was said at each look: beside when, for how long."""
    query, said = joined(folder, rows, memory, algorithm), list[tuple[float, float]]()
    clock, over = Clock(query.traced.memory_bytes), threading.Event()

    def look() -> None:
        while not over.wait(LOOK_SECONDS / 2):
            progress = query.progress
            left = clock.look(progress.seconds, progress, progress.all_rows)
            if left is not None and progress.phase != "done":
                said.append((progress.seconds, left.seconds))

    watching = threading.Thread(target=look)
    watching.start()
    results = sum(batch.num_rows for batch in query)
    over.set()
    watching.join()
    end = query.progress.seconds
    shares = {
        f"{share:.0%}": next((left / (end - at) for at, left in said if share * end <= at < end), None)
        for share in SHARES
    }
    return {"results": results, "seconds": end, "said": shares}


def page(folder: Path, rows: int, memory: str, is_open: bool) -> Run:
    few = pa.table({"key": [1, 2]})
    small = sooner.join(few, few, on="key")
    small.dashboard()
    list(small)
    loaded = peak_bytes()
    query = joined(folder, rows, memory)
    reader = reading(query.dashboard().url) if is_open else None
    started, cpu_before = time.perf_counter(), cpu_seconds()
    results = sum(batch.num_rows for batch in query)
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu_before
    if reader is not None:
        reader.wait()
    return {
        "results": results,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_bytes": peak_bytes(),
        "loaded_bytes": loaded,
    }


def reading(url: str) -> "subprocess.Popen[bytes]":
    """A process that reads as a browser does, all that comes, until the last state; it has begun."""
    place = urlsplit(url)
    program = (
        "import http.client, sys; connection = http.client.HTTPConnection(sys.argv[1]); "
        "connection.request('GET', sys.argv[2]); answer = connection.getresponse(); "
        "answer.readline(); print(flush=True); answer.read()"
    )
    command = [sys.executable, "-S", "-c", program, place.netloc, f"{place.path}news"]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert reader.stdout is not None
    reader.stdout.readline()
    return reader


def first_state(url: str) -> None:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc)
    connection.request("GET", f"{place.path}news")
    answer = connection.getresponse()
    while not answer.readline().startswith(b"event: news"):
        pass
    answer.readline()
    connection.close()


def opened(trace: Path) -> Run:
    """Seconds until the page of a trace has its first state, in a process of its own."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import sooner.ui.dashboard_command"], check=True)
    modules, started = time.perf_counter() - started, time.perf_counter()
    command = [sys.executable, "-m", "sooner", "dashboard", str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        first_state(serving.stdout.readline().strip())
        seconds = time.perf_counter() - started
        serving.terminate()
    return {"seconds": seconds, "modules_seconds": modules, "bytes": trace.stat().st_size}


def alone(what: str, *arguments: object) -> Run:
    """In a process of its own."""
    command = [sys.executable, __file__, "--alone", what, json.dumps(arguments, default=str)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def run_alone(what: str, arguments: list[Any]) -> Run:
    folder, *others = arguments
    return {"left": time_left, "page": page}[what](Path(folder), *others)


def part_left(folder: Path, rows: int, repetitions: int) -> tuple[list[dict[str, Any]], Any]:
    found, claims = dict[str, list[Run]](), []
    for shape in LEFT_SHAPES:
        assert shape in SHAPES
        write_inputs(folder, rows, shape)
        for algorithm in ALGORITHMS if shape == "integers" else ALGORITHMS[:1]:
            for memory in MEMORIES:
                name = f"{shape}, {algorithm}, memory for {memory}"
                found[name] = [alone("left", folder, rows, memory, algorithm) for _ in range(repetitions)]
                ratios = [ratio(found[name], f"{share:.0%}") for share in SHARES]
                seconds = statistics.median(run["seconds"] for run in found[name])
                print(f"{name:<40}{seconds:6.2f} s" + "".join(f"{one:8.2f}" for one in ratios), flush=True)
    for share in (f"{share:.0%}" for share in SHARES):
        all_ratios = [ratio(runs, share) for runs in found.values()]
        good = sum(0.7 <= one <= 1.3 for one in all_ratios) / len(all_ratios)
        claims.append(claim(f"after {share} of the time: shapes whose time left is within 30%", "1.0", good, good == 1))
    return claims, found


def ratio(runs: list[Run], share: str) -> float:
    """What was said, times what it took; nothing said is as far off as can be."""
    said = [run["said"][share] for run in runs]
    return statistics.median(float("inf") if one is None else one for one in said)


def part_page(folder: Path, rows: int, repetitions: int) -> tuple[list[dict[str, Any]], Any]:
    write_inputs(folder, rows, "integers")
    runs: dict[str, list[Run]] = {}
    for _ in range(PAGE_ROUNDS * repetitions):
        for memory in ("all", "10%"):
            for name, is_open in (("open", True), ("without", False)):  # in turn, as neighbours disturb them
                runs.setdefault(f"{memory}, {name}", []).append(alone("page", folder, rows, memory, is_open))
    claims = []
    for memory in ("all", "10%"):
        ours, without = runs[f"{memory}, open"], runs[f"{memory}, without"]
        for name in ("seconds", "cpu_seconds"):
            times = statistics.median(run[name] for run in ours) / statistics.median(run[name] for run in without)
            what = f"an open page, memory for {memory}: {name.replace('cpu_', 'CPU ')}, times those without"
            claims.append(claim(what, "<= 1.03", round(times, 3), times <= 1.03))
        more = statistics.median(run["peak_bytes"] for run in ours) - statistics.median(
            run["peak_bytes"] for run in without
        )
        megabytes = round(more / 2**20, 1)
        claims.append(
            claim(f"an open page, memory for {memory}: MB more at the most", "<= 20", megabytes, more <= 20 * 2**20)
        )
    return claims, runs


def part_trace(folder: Path, rows: int, repetitions: int) -> tuple[list[dict[str, Any]], Any]:
    rows = TRACED_ROWS * rows // 5_000_000
    write_inputs(folder, rows, "integers")
    trace = folder / "trace.jsonl"
    results = sum(batch.num_rows for batch in joined(folder, rows, "10%", trace=str(trace)))
    print(f"a trace of {trace.stat().st_size / 2**20:.1f} MB, of {2 * rows:,} rows and {results:,} results", flush=True)
    runs = [opened(trace) for _ in range(repetitions)]
    seconds = round(statistics.median(run["seconds"] for run in runs), 2)
    return [claim(f"seconds until the trace of {2 * rows:,} rows is seen", "<= 2", seconds, seconds <= 2)], runs


PARTS = {"left": part_left, "page": part_page, "trace": part_trace}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=5_000_000, help="of each side; the trace has ten times as many")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        return print(json.dumps(run_alone(options.alone[0], json.loads(options.alone[1]))))
    claims, series = [], {}
    for part in options.parts:
        with tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as folder:
            found, series[part] = PARTS[part](Path(folder), options.rows, options.repetitions)
        claims += found
        for one in found:
            print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")
    if options.json:
        write_report(options.json, "dashboard", "the dashboard and the time left", claims, series)
    return None


if __name__ == "__main__":
    main()
