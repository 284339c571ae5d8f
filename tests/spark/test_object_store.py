"""A state on an object store: a real server of S3 on this machine, which knows neither directories nor renaming."""

import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from pyarrow.fs import FileSelector
from pyspark.sql import SparkSession

import cluster_driver
import sooner.spark as ss
from join_steps import Arriving, Lane, new_step, pairs_in, plan_of, run, same
from killing import kill_in_a_batch
from patience import HANG_SECONDS
from queries import numbered
from s3_server import BUCKET, KEY, SECRET, s3_server
from sooner.runs.formats.versions import Header, Versions
from sooner.sides import SIDES
from sooner.spark.states.contents import UsedState
from sooner.spark.states.reporting import check, described, export
from sooner.spark.states.rescaling import rescale
from sooner.spark.step.standing import read_progress
from sooner.spark.step.state_directory import open_state
from spark_joins import JoinCase, ended, start_driver

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of a bucket; processes find its server by their environment, as docs/deploy.md says."""
    with s3_server(tmp_path_factory.mktemp("s3")) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"


@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_join_whose_driver_is_killed(spark: SparkSession, tmp_path: Path, store: str, how: str) -> None:
    state, dice = f"{store}/{how}", random.Random(how)
    case = cluster_driver.case_in(spark, tmp_path, state, how)
    for _ in range(2):
        kill_in_a_batch(tmp_path, dice, cluster_driver, "local[2,4]", state, how)
    driver, _ = start_driver(tmp_path, cluster_driver, "local[2,4]", state, how)
    driver.communicate(timeout=HANG_SECONDS)
    assert driver.returncode == 0, (tmp_path / "errors").read_text()[-2000:]
    assert case.written() == case.expected()
    assert not check(state).troubles


def test_a_state_is_looked_into_and_divided_between_two_runs(spark: SparkSession, tmp_path: Path, store: str) -> None:
    """By a URI that says by itself where the server is: the session began before it was there."""
    where = urlencode({"scheme": "http", "region": "us-east-1", "endpoint_override": os.environ["AWS_ENDPOINT_URL"]})
    state = f"s3://{KEY}:{SECRET}@{store.removeprefix('s3://')}/divided?{where}"
    arguments = {"state": state, "memory": "768KB"}
    case = JoinCase(spark, tmp_path, cluster_driver.LEFT, cluster_driver.RIGHT, 3, arguments=arguments)
    writer = case.joined().writeStream.format("parquet").option("checkpointLocation", str(case.checkpoint))
    ended(ss.start(writer.trigger(availableNow=True), str(case.output)))
    require_whole(state, tmp_path / "before")
    assert rescale(state, 6).moved_bytes > 0
    require_whole(state, tmp_path / "after")
    case.run(partitions=3)
    assert (UsedState.at(state).partitions, UsedState.at(state).tasks) == (6, 3)
    assert case.written() == case.expected()


def require_whole(state: str, folder: Path) -> None:
    """What the commands for states say of it."""
    used = UsedState.at(state)
    progress = read_progress(state, used.partitions, used.complete_version())
    assert progress is not None
    assert ("state", state) in described(state)
    assert not check(state).troubles
    assert [n_rows for _, n_rows in export(state, folder)] == [*progress.total.arrived_rows]


def test_of_two_attempts_at_one_version_either_is_gone_on_from(tmp_path: Path, store: str) -> None:
    """Both have read the same version, and publish at the same moment; then one of before comes too late."""
    left, right = numbered(900, 150, 1, "a"), numbered(900, 150, 2, "b")
    arriving = [Arriving(*(rows.slice(300 * version, 300) for rows in (left, right))) for version in range(3)]
    here = Lane(plan_of(left.schema, right.schema, tmp_path))
    for rows in arriving:
        here.step(rows)
    identity = {"algorithm": "rpj", "partitions": 1, "left": "", "right": ""}
    plan = replace(plan_of(left.schema, right.schema, tmp_path / "s3", identity=identity), state=f"{store}/racing")
    found = run(plan, 0, arriving[0])
    together = threading.Barrier(2)

    def attempt(seed: int) -> list[pa.RecordBatch]:
        step = new_step(plan, 1, arriving[1], seed)
        results = list(step.results())
        together.wait(HANG_SECONDS)
        step.publish()
        return results

    with ThreadPoolExecutor() as threads:
        one, other = threads.map(attempt, SIDES)
    assert same(pairs_in(one), pairs_in(other))
    assert not check(plan.state).troubles
    late = new_step(plan, 1, arriving[1])
    found += one + run(plan, 2, arriving[2])
    assert same(pairs_in(late.results()), pairs_in(one))
    late.publish()
    assert UsedState.at(plan.state).complete_version() == 2
    assert not check(plan.state).troubles
    assert same(pairs_in(found), pairs_in(here.results))


def test_who_reads_a_version_while_two_write_it_gets_one_of_theirs(store: str) -> None:
    filesystem, path = open_state(f"{store}/overwritten")
    versions = Versions(filesystem, path)
    states = [{"writer": [number] * 200_000} for number in SIDES]
    versions.publish(Header(3, {}, {}), states[0])
    seen = []

    def write(number: int) -> None:
        for _ in range(20):
            versions.publish(Header(3, {}, {}), states[number])
            time.sleep(0.02)

    with ThreadPoolExecutor() as threads:
        writing = [threads.submit(write, number) for number in SIDES]
        while not all(one.done() for one in writing):
            seen.append(versions.load(3)[1])
    assert all(one.result() is None for one in writing)
    assert len(seen) > 1
    assert all(state in states for state in seen)
    assert [info.base_name for info in filesystem.get_file_info(FileSelector(path))] == ["000000000003.json"]
