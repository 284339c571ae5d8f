"""A driver in a process of its own, that can be killed: python spark_driver.py FOLDER MASTER BATCHES WAY HOW

MASTER is "submitted" in a program that spark-submit runs, which first says what session it has got. HOW may have the
word "near" after it, for a range join, or the name of an algorithm. It goes on from the checkpoint in the folder, if
there is one. Its last words are what it has seen.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from sooner.runs.custody.shared_memory import PAGE_BYTES
from sooner.runs.custody.shared_memory_directory import OWNERS
from sooner.spark.session.connect import UnfitSession
from spark_joins import JoinCase, Way, killable_session, skewed

SUBMITTED = "submitted"
MEMORY_BYTES = 128 * 1024
LEFT, RIGHT = skewed(4000, 2000, 1, "a"), skewed(3500, 2000, 2, "b")


def case_in(
    spark: SparkSession, folder: Path, batches: int, way: Way = "Spark's source", how: str = "inner"
) -> JoinCase:
    how, _, word = how.partition(" ")
    arguments = {"partitions": 2, "memory": MEMORY_BYTES, "shared_memory": folder / "shared-memory", "how": how}
    condition = "r.k - l.k between -1 and 1" if word == "near" else None
    arguments |= {"within": 1} if word == "near" else {"algorithm": word or "rpj"}
    return JoinCase(spark, folder, LEFT, RIGHT, batches, arguments=arguments, ways=(way, way), near=condition)


def noting_workers(folder: str) -> Any:
    """Leave a file for each Python daemon whose workers do tasks: there is one on each executor."""

    def note(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        Path(folder, "daemons").mkdir(exist_ok=True)
        Path(folder, "daemons", str(os.getppid())).touch()
        yield from rows

    def then(joined: DataFrame) -> DataFrame:
        return joined.mapInArrow(note, joined.schema)

    return then


def bytes_in(folder: Path) -> int:
    """What files take, in whole pages; one that goes in the meantime counts nothing."""
    n_bytes = 0
    for path in folder.rglob("*.copy*"):
        with contextlib.suppress(FileNotFoundError):
            n_bytes += -(-path.stat().st_size // PAGE_BYTES) * PAGE_BYTES
    return n_bytes


def submitted_session() -> SparkSession:
    """The one that spark-submit was told of: another is refused, and what it was not told is taken."""
    try:
        ss.local_session("local[5]")
    except UnfitSession as refusal:
        print(refusal, flush=True)  # noqa: T201
    spark = ss.local_session(spark__sql__shuffle__partitions="3")
    print(spark.sparkContext.master, spark.conf.get("spark.sql.shuffle.partitions"), flush=True)  # noqa: T201
    return spark


def main(folder: Path, master: str, batches: int, way: Way, how: str) -> None:
    spark = submitted_session() if master == SUBMITTED else killable_session(master)
    case = case_in(spark, folder, batches, way, how)
    owners: set[str] = set()
    copies_bytes: list[int] = []
    listen = case.listen

    def look(progress: ss.JoinProgress) -> None:
        owners.update(path.name for path in (folder / "shared-memory").glob(f"*/*/{OWNERS}/*"))
        copies_bytes.append(bytes_in(folder / "shared-memory"))
        listen(progress)

    case.listen = look  # type: ignore[method-assign]
    case.run(then=noting_workers(str(folder)))
    print(json.dumps({"owners": sorted(owners), "copies_bytes": copies_bytes}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])  # type: ignore[arg-type]
