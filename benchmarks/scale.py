"""What a batch on Spark costs by partitions, rows and executors; and the pacemaker alone with 1,000 partitions.

    PYTHONPATH=tests python benchmarks/scale.py --json results.json

The pacemaker is the real one, without Spark: partitions are given headers that a real join wrote, version after
version, on this machine's disk and on a server of S3 that is started here, and what it takes to decide about the next
batch is timed. Batches are Spark's, of two sources that give as many rows each time. From some of them comes the model
that docs/scale.md shows, and others check it, also on a standalone cluster with three processes that work.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.fs as pafs
from pyspark.sql import SparkSession
from report import write_report
from spark_join import batch_seconds, stream

import sooner.spark as ss
from s3_server import BUCKET, s3_server
from sooner.runs.formats.versions import Header, Versions
from sooner.spark.dataflow.pacemaker import PulseReader
from sooner.spark.step.layout import partition_directory
from sooner.spark.step.state_directory import open_state
from spark_cluster import standalone_cluster

HEADERS = (10, 100, 1000)  # partitions whose headers the pacemaker reads
PACED = 5  # batches
BATCHES = 7
WARM = 2  # of them
WRITERS = 16
FITTED = ((2, 1_000), (8, 1_000), (32, 1_000), (2, 250_000))  # partitions, and rows of each side in a batch
CHECKED = ((16, 100_000), (4, 10_000))
OFF = 1.5  # times that the model may be off, either way


def median_batch(spark: SparkSession, folder: Path, partitions: int, rows: int) -> float:
    """Of a join of two streams; what comes out is thrown away."""
    folder.mkdir()
    left, right = stream(spark, 1, "a", rows), stream(spark, 2, "b", rows)
    joined = ss.join(left, right, on="k", memory="512MB", partitions=partitions, state=folder / "state")
    return statistics.median(batch_seconds(joined, folder, BATCHES)[WARM:])


@dataclass(frozen=True)
class Model:
    """Of a batch, in seconds of two cores."""

    fixed: float
    for_each_partition: float
    for_each_million_rows: float

    def seconds(self, partitions: int, rows: int) -> float:
        return self.fixed + self.for_each_partition * partitions + self.for_each_million_rows * 2 * rows / 1e6


Found = dict[tuple[int, int], float]  # seconds by partitions and rows of a side


def fitted(found: Found) -> Model:
    equations = np.array([[1, partitions, 2 * rows / 1e6] for partitions, rows in found])
    return Model(*map(float, np.linalg.lstsq(equations, np.array(list(found.values())))[0]))


def measured(spark: SparkSession, folder: Path, cases: Sequence[tuple[int, int]]) -> Found:
    found = {}
    for partitions, rows in cases:
        name = f"{spark.sparkContext.master.partition(':')[0]}-{partitions}-{rows}"
        found[partitions, rows] = median_batch(spark, folder / name, partitions, rows)
        print(f"{name}: {found[partitions, rows]:.3f} s a batch", flush=True)
    return found


def on_a_cluster(folder: Path) -> Found:
    with standalone_cluster(folder) as cluster:
        builder = SparkSession.builder.master(cluster.url).config("spark.executor.memory", "512m")
        spark = builder.config("spark.ui.enabled", "false").getOrCreate()
        try:
            return measured(spark, folder, CHECKED)
        finally:
            spark.stop()


class Paced:
    """Partitions of which each has the header of a real one, in every version that is asked for."""

    def __init__(self, state: str, partitions: int, like: Header) -> None:
        self.state, self.partitions = state, partitions
        self._like = replace(like, identity=like.identity | {"partitions": partitions})
        filesystem, path = open_state(state)
        directories = [partition_directory(path, partition) for partition in range(partitions)]
        for directory in directories:
            filesystem.create_dir(directory, recursive=True)
        self._versions = [Versions(filesystem, directory) for directory in directories]

    def publish(self, version: int) -> None:
        with ThreadPoolExecutor(WRITERS) as writers:
            header = replace(self._like, version=version)
            list(writers.map(lambda versions: versions.publish(header, {}), self._versions))

    def seconds(self) -> float:
        """The median time in which the pacemaker learns how a batch went and decides about the next."""
        pacemaker = PulseReader(self.state, self.partitions, ("left", "right"))
        offset, found = pacemaker.initialOffset(), []
        for version in range(PACED):
            self.publish(version)
            began = time.perf_counter()
            _, offset = pacemaker.read(offset)
            found.append(time.perf_counter() - began)
        assert offset["pulse"] == PACED, "it has looked at each"
        return statistics.median(found)


def header_in(state: Path) -> Header:
    versions = Versions(pafs.LocalFileSystem(), partition_directory(str(state), 0))
    return versions.load(versions.published()[-1])[0]


def paced(where: str, like: Header) -> dict[int, float]:
    found = {}
    for partitions in HEADERS:
        found[partitions] = Paced(f"{where}/{partitions}", partitions, like).seconds()
        print(f"pacemaker, {partitions} partitions in {where[:10]}: {found[partitions] * 1e3:.1f} ms", flush=True)
    return found


def claim(what: str, ours: float, bar: float) -> dict[str, Any]:
    print(f"{'holds' if ours <= bar else 'FAILS'}: {what}: {ours:.2f} (<= {bar:g})")
    return {"what": what, "expected": f"<= {bar:g}", "ours": round(ours, 3), "holds": ours <= bar}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = ss.local_session("local[2]")
        found = measured(spark, folder, FITTED + CHECKED)
        spark.stop()
        like = header_in(folder / f"local[2]-{FITTED[0][0]}-{FITTED[0][1]}" / "state")
        clustered = on_a_cluster(folder)
        pacing = {"a local disk": paced(str(folder), like)}
        with s3_server(folder / "s3") as environment:
            os.environ.update(environment)
            pacing["S3 on this machine"] = paced(f"s3://{BUCKET}", like)
    model = fitted({case: found[case] for case in FITTED})
    claims = [
        claim(
            f"{where}, {partitions} partitions, {rows:,} rows of each side: seconds over those of the model, or less",
            max(seconds / model.seconds(partitions, rows), model.seconds(partitions, rows) / seconds),
            OFF,
        )
        for where, checked in (("two cores", found), ("a cluster of three processes", clustered))
        for (partitions, rows), seconds in checked.items()
        if (partitions, rows) in CHECKED
    ]
    for where, by_partitions in pacing.items():
        claims.append(claim(f"pacemaker, 1,000 partitions on {where}: seconds a batch", by_partitions[1000], 1))
    print(model)
    if arguments.json:
        series = {
            "model": asdict(model),
            "batch_seconds": [[*case, seconds] for case, seconds in found.items()],
            "batch_seconds_on_a_cluster": [[*case, seconds] for case, seconds in clustered.items()],
            "pacemaker_seconds": {where: list(map(list, by.items())) for where, by in pacing.items()},
        }
        write_report(arguments.json, "scale", "scale", claims, series)


if __name__ == "__main__":
    main()
