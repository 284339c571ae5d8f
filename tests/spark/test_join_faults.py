"""Whatever fails on the way, the query that goes on from its checkpoint has Spark's own answer, or says why not."""

import importlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from queries import refused
from sooner.errors import InvalidJoin, StateCorrupted
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.step import Attempt, run_step
from spark_joins import JoinCase, Rows, Way, ended, failing_once_in, rows_of, skewed, stream_of

LEFT, RIGHT = skewed(3000, 1500, 1, "a"), skewed(2500, 1500, 2, "b")
Answer = Callable[[JoinCase], Rows]
A_RANGE = {"within": (0, 1), "near": "r.k - l.k between 0 and 1"}


def case_in(spark: SparkSession, folder: Path, batches: int = 3, near: str | None = None, **arguments: Any) -> JoinCase:
    """One side comes packed, the other in Spark's rows."""
    ways: tuple[Way, Way] = ("packed", "Spark's source")
    return JoinCase(spark, folder, LEFT, RIGHT, batches, arguments=arguments, ways=ways, near=near)


@pytest.fixture(scope="module")
def answer(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Spark's own, of which each is computed once: all tests here join the same tables."""
    folder, known = tmp_path_factory.mktemp("answers"), dict[tuple[str, str | None], Rows]()

    def of(case: JoinCase) -> Rows:
        assert (case.left, case.right) == (LEFT, RIGHT)
        which = case.kind.name, case.near
        if which not in known:
            known[which] = case_in(spark, folder, near=case.near, how=case.kind.name).expected()
        return known[which]

    return of


# Tasks that fail, and memory that forgets


@pytest.mark.parametrize(
    "arguments", [{"how": "full"}, pytest.param({"how": "left", **A_RANGE}, marks=pytest.mark.long)]
)
def test_tasks_that_fail_after_their_state_is_written_and_copies_that_vanish(
    spark: SparkSession, tmp_path: Path, arguments: dict[str, Any], answer: Answer
) -> None:
    case = case_in(spark, tmp_path, shared_memory=tmp_path / "shared-memory", **arguments)
    listen = case.listen

    def forget(progress: ss.JoinProgress) -> None:
        shutil.rmtree(tmp_path / "shared-memory", ignore_errors=True)
        listen(progress)

    case.listen = forget  # type: ignore[method-assign]
    case.run(then=failing_once_in({1, 3, 5}))
    assert case.written() == answer(case)
    assert case.most_spilled_rows > 1000


# Batches that run again


# A query that has nothing more to do is started once more in test_spark_estimate.py too.
@pytest.mark.parametrize("starts", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_batch_that_runs_again_and_more_memory_from_then_on(
    spark: SparkSession, tmp_path: Path, answer: Answer, starts: int
) -> None:
    """Killed between the sink and Spark's log of commits, the query does its last batch again. All actions on a batch
    see the same rows.
    """
    case, crashed, counts = case_in(spark, tmp_path, algorithm="xjoin", how="left"), [], dict[int, int]()

    def write(rows: DataFrame, batch: int) -> None:
        rows.show(1)
        counts[batch] = rows.count()
        rows.write.mode("overwrite").parquet(str(case.output / f"batch={batch}"))
        if batch == 2 and not crashed:
            crashed.append(batch)
            raise RuntimeError("killed after the sink")

    def start(memory: str) -> ss.Query:
        writer = case.joined(memory=memory).writeStream.foreachBatch(write)
        return ss.start(writer.option("checkpointLocation", str(case.checkpoint)), listener=case.listen)

    with pytest.raises(StreamingQueryException, match="killed after the sink"):
        ended(start("128KB"))
    for _ in range(starts):
        query = start("1MB")
        ended(query)
        assert query.is_complete
        written = rows_of(spark.read.parquet(str(case.output)).drop("batch"))
        assert written == answer(case)
        assert sum(counts.values()) == written.total()


class Recorder:
    """Keeps what tasks get, so that they can be run again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plans: list[StepPlan] = []

    def step_of(self, plan: StepPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        self.plans.append(plan)
        folder = str(self.folder)

        def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            attempt, taken = Attempt.of_this_task(), list(batches)
            context = TaskContext.get()
            assert context is not None
            path = f"{folder}/{attempt.version}-{context.partitionId()}"
            with pa.OSFile(path, "w") as file, pa.ipc.new_stream(file, taken[0].schema) as writer:
                for batch in taken:
                    writer.write_batch(batch)
            return run_step(plan, attempt, iter(taken))

        return step

    def run_again(self, version: int, partition: int, query: str) -> None:
        with pa.OSFile(str(self.folder / f"{version}-{partition}")) as file:
            batches = list(pa.ipc.open_stream(file))
        list(run_step(self.plans[0], Attempt(version, query), iter(reversed(batches))))


@pytest.mark.long  # in process, with all algorithms: test_step_purity.py
def test_attempts_that_write_after_newer_versions_are_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    recorder = Recorder(tmp_path / "recorded")
    recorder.folder.mkdir()
    monkeypatch.setattr(importlib.import_module("sooner.spark.dataflow.dataflow"), "_step_of", recorder.step_of)
    case = case_in(spark, tmp_path, batches=4, algorithm="hmj")
    query = case.run_until_batch(2)
    last = case.progress[-1].batch
    recorder.run_again(last, 0, query.id)
    recorder.run_again(last, 1, query.id)
    recorder.run_again(last, 0, query.id)
    for version in range(1, last):
        with pytest.raises(StateCorrupted, match="has no version"):
            recorder.run_again(version - 1 or 1, 1, query.id)
    case.run()
    assert case.written() == answer(case)


# Damage


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> JoinCase:
    """A query that was stopped on its way, and a copy of all its files."""
    case = case_in(spark, tmp_path_factory.mktemp("stopped"))
    case.run_until_batch(1)
    shutil.copytree(case.folder, case.folder.with_name("intact"))
    return case


@pytest.fixture
def resumable(stopped: JoinCase) -> JoinCase:
    shutil.rmtree(stopped.folder)
    shutil.copytree(stopped.folder.with_name("intact"), stopped.folder)
    return stopped


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.one_in(4)  # in process, with much more that can be wrong: test_forged_states.py
@pytest.mark.parametrize(
    ("files", "harm", "mention"),
    [
        ("*.arrows", flip_a_bit, ".arrows is damaged"),
        ("*.arrows", cut_short, ".arrows is damaged"),
        ("*.json", flip_a_bit, ".json is damaged"),
        ("*.json", Path.unlink, "files of the state are gone"),
    ],
)
def test_damage_is_found_and_nothing_wrong_is_written(
    resumable: JoinCase, files: str, harm: Callable[[Path], None], mention: str, answer: Answer
) -> None:
    joined = resumable.joined()
    for path in resumable.state.glob(f"partition-*/{files}"):
        harm(path)
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(resumable.checkpoint))
    with refused(StateCorrupted, mention, str(resumable.state)):
        ended(ss.start(writer, str(resumable.output)))
    assert resumable.written() <= answer(resumable)


# A state that belongs to something else


@pytest.mark.parametrize(
    ("changes", "mention"),
    [
        ({"algorithm": "hmj"}, "another algorithm: rpj there, hmj here"),
        ({"on": None, "left_on": "a", "right_on": "b"}, "other keys"),
        ({"within": 3}, "other keys"),
        ({"by": "k", "on": None, "left_on": "a", "right_on": "b", "within": 3}, "another range: None there, ['a', 'b'"),
    ],
)
def test_a_state_of_another_join_is_refused_before_the_query_starts(
    resumable: JoinCase, changes: dict[str, Any], mention: str
) -> None:
    with refused(InvalidJoin, mention, str(resumable.state)):
        resumable.joined(**changes)


def test_a_state_of_other_columns_is_refused_before_the_query_starts(resumable: JoinCase) -> None:
    left, right = resumable.streams()
    with refused(InvalidJoin, "other columns on the right", "extra"):
        ss.join(left, right.selectExpr("*", "1 as extra"), on="k", partitions=2, state=resumable.state)


def test_a_state_of_another_query_is_refused_by_the_first_step(resumable: JoinCase, answer: Answer) -> None:
    shutil.rmtree(resumable.checkpoint)
    with refused(InvalidJoin, "belongs to another query", str(resumable.state)):
        ended(resumable.start())
    assert resumable.written() <= answer(resumable)


# What follows the join


def test_rows_that_nobody_reads_are_missed_by_the_next_batch(spark: SparkSession, tmp_path: Path) -> None:
    case = case_in(spark, tmp_path, batches=2)
    writer = case.joined().writeStream.foreachBatch(lambda rows, _: rows.limit(1).collect())
    with refused(StateCorrupted, "limit", "show"):
        ended(ss.start(writer.option("checkpointLocation", str(case.checkpoint)), listener=case.listen))


@pytest.mark.long  # with another algorithm and a batch that runs again: above
def test_two_actions_on_each_batch_see_the_same_rows(spark: SparkSession, tmp_path: Path, answer: Answer) -> None:
    case, counts = case_in(spark, tmp_path, batches=2, algorithm="pr_join"), []

    def twice(rows: DataFrame, batch: int) -> None:
        rows.show(1)
        counts.append(rows.count())
        rows.write.parquet(str(case.output / f"batch={batch}"))

    writer = case.joined().writeStream.foreachBatch(twice)
    ended(ss.start(writer.option("checkpointLocation", str(case.checkpoint)), listener=case.listen))
    written = rows_of(spark.read.parquet(str(case.output)).drop("batch"))
    assert written == answer(case)
    assert sum(counts) == sum(written.values())


def test_partitions_that_spark_numbers_otherwise(spark: SparkSession, tmp_path: Path, answer: Answer) -> None:
    """After a union the tasks of the join are not the first ones, and after coalesce they are one task."""
    case = case_in(spark, tmp_path, batches=2, partitions=3, memory="192KB")
    other = stream_of(spark, tmp_path / "left").selectExpr("k", "a", "-1L as b")
    case.run(then=lambda joined: other.union(joined.coalesce(1)))
    written = spark.read.parquet(str(case.output))
    assert rows_of(written.where("b >= 0")) == answer(case)
    assert written.where("b < 0").count() == LEFT.num_rows


# A side that ends when the user says so


def test_rows_after_the_end_of_their_side_are_counted_and_left_out(spark: SparkSession, tmp_path: Path) -> None:
    case = case_in(spark, tmp_path, batches=4)
    seen: list[ss.JoinProgress] = []

    def end_the_left_early(progress: ss.JoinProgress) -> None:
        seen.append(progress)
        query.finish("left")
        if progress.total.arrived_rows[1] == RIGHT.num_rows:
            query.finish("right")

    case.listen = end_the_left_early  # type: ignore[method-assign]
    query = case.start()
    ended(query)
    arrived, late = seen[-1].total.arrived_rows[0], seen[-1].late_rows[0]
    assert late > 0
    in_time = spark.createDataFrame(LEFT.slice(0, arrived))
    assert case.written() == rows_of(in_time.join(spark.read.parquet(str(tmp_path / "right")), on="k"))
