"""How long a state is out of use while it gets other partitions: 2 become 8, and then 3 tasks do them.

    python benchmarks/rescale.py --json results.json

The state is that of a join on Spark whose rows match nothing, so that all of them are kept, most of them on disk. It is
copied for each repetition, and what is timed is all that `sooner state rescale` does beside starting Python: once all
of it, and once what is left to do where `--ahead` was given when 9 of 10 files were in. Bytes are those that rows take
in memory; those that move are in another partition afterwards. Seconds of processors are beside those of the clock,
since they are about the same however busy the machine is.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from report import write_report

import sooner.spark as ss
from sooner.spark.states.contents import UsedState, segments_in
from sooner.spark.states.rescaling import divide_ahead, rescale

ROWS = 5_000_000  # of each side
FILES = 10
AHEAD = 9  # files that are in when the state is divided ahead
TEXT_BYTES = 80
MEMORY = "256MB"
REPETITIONS = 3


def write_sides(folder: Path, rows: int) -> None:
    """Even keys on the left, odd ones on the right; numbers and a text, as rows of a log have."""
    dice = np.random.default_rng(1)
    for side, name in enumerate(("left", "right")):
        (folder / name).mkdir()
        for file in range(FILES):
            some = rows // FILES
            keys = 2 * dice.integers(0, 2**40, some) + side
            offsets = pa.py_buffer(np.arange(0, (some + 1) * TEXT_BYTES, TEXT_BYTES, np.int32))
            letters = pa.py_buffer(dice.bytes(some * TEXT_BYTES // 2).hex().encode())
            text = pa.Array.from_buffers(pa.string(), some, [None, offsets, letters])
            table = pa.table({"k": keys, f"n_{name}": np.arange(some), f"text_{name}": text})
            pq.write_table(table, folder / name / f"{file}.parquet")


def make_state(folder: Path, rows: int) -> Path:
    """By a query that has taken in all rows and stopped by itself; divided ahead before the last files came."""
    write_sides(folder, rows)
    late = [folder / name / f"{file}.parquet" for name in ("left", "right") for file in range(AHEAD, FILES)]
    for file in late:
        file.rename(file.with_suffix(".late"))
    spark = ss.local_session("local[2]")
    take_in(spark, folder)
    print(f"{divide_ahead(str(folder / 'state'), 8)}.")
    for file in late:
        file.with_suffix(".late").rename(file)
    take_in(spark, folder)
    spark.stop()
    return folder / "state"


def take_in(spark: SparkSession, folder: Path) -> None:
    """What files there are by now, one of each side in a batch."""
    streams = []
    for name in ("left", "right"):
        schema = spark.read.parquet(str(folder / name / "0.parquet")).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).option("pathGlobFilter", "*.parquet")
        streams.append(reader.parquet(str(folder / name)))
    joined = ss.join(*streams, on="k", memory=MEMORY, partitions=2, state=folder / "state")
    writer = joined.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    ss.start(writer.trigger(availableNow=True)).awaitTermination()


def rows_bytes(state: Path) -> int:
    used = UsedState.at(str(state))
    version = used.complete_version()
    assert version is not None
    loaded = (versions.load(version)[1] for versions in used.versions())
    return sum(segment["n_bytes"] for data in loaded for segment in segments_in(data))


def measured(state: Path, folder: Path) -> dict[str, Any]:
    """2 to 8 to 3 of copies, one of which is without what was divided ahead."""
    found: dict[str, Any] = {}
    shutil.copytree(state, folder)
    found["2 to 8, divided ahead"] = timed(folder, 8)
    shutil.rmtree(folder)
    shutil.copytree(state, folder, ignore=shutil.ignore_patterns("generation-*"))
    found["2 to 8"] = timed(folder, 8)
    found["8 to 3"] = timed(folder, 3)
    shutil.rmtree(folder)
    return found


def timed(state: Path, tasks: int) -> dict[str, Any]:
    began, began_cpu = time.perf_counter(), time.process_time()
    moved_bytes = rescale(str(state), tasks).moved_bytes
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "moved_bytes": moved_bytes}


def claim(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = statistics.median(run[name]["seconds"] for run in runs)
    moved_bytes = runs[0][name]["moved_bytes"]
    if not moved_bytes:
        return {"what": f"{name}: seconds, with nothing moved", "expected": 1, "ours": seconds, "holds": seconds < 1}
    ours = seconds / moved_bytes * 1e9
    return {"what": f"{name}: seconds for each GB that moves", "expected": 1, "ours": ours, "holds": ours < 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"of each side (default: {ROWS:,})")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = make_state(Path(folder), arguments.rows)
        n_bytes = rows_bytes(state)
        runs = [measured(state, Path(folder, str(number))) for number in range(REPETITIONS)]
    claims = [claim(name, runs) for name in runs[0]]
    print(f"{2 * arguments.rows:,} rows, {n_bytes / 1e9:.2f} GB")
    for one in claims:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']:.3f} (bar: {one['expected']})")
    if arguments.json:
        series = {"rows": 2 * arguments.rows, "rows_bytes": n_bytes, "runs": runs}
        write_report(arguments.json, "rescale", "rescale", claims, series)


if __name__ == "__main__":
    main()
