"""A query that goes on with other partitions than it began with."""

import logging
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rescaled_driver
import sooner.spark as ss
import sooner.spark.states.rescaling
from patience import until
from queries import refused
from sooner.errors import InvalidJoin
from sooner.spark.states.contents import UsedState
from sooner.spark.states.rescaling import divide_ahead, rescale
from sooner.spark.step.in_use import alone
from spark_joins import JoinCase


def go_on_to_a_rest_of_the_state(case: JoinCase) -> None:
    """A query that is stopped may be in the middle of a batch: with its own partitions it goes on to the end of one."""
    while True:
        try:
            case.joined(partitions=8)
        except InvalidJoin as refusal:
            assert "try again" in str(refusal)
        else:
            return
        case.run_until_batch(case.progress[-1].batch + 1, partitions=None)


def is_divided_ahead(case: JoinCase) -> bool:
    """Whatever was on disk, as soon as anything is."""
    if not any(progress.total.spilled_rows for progress in case.progress):
        return False
    try:
        return divide_ahead(str(case.state), 8).n_bytes > 0
    except InvalidJoin as refusal:
        assert "try again" in str(refusal)
        return False


@pytest.mark.long
def test_a_query_goes_on_with_more_partitions_and_with_fewer(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "sooner")
    case = rescaled_driver.case_in(spark, tmp_path, "full")
    with case.start(partitions=2):
        until(lambda: is_divided_ahead(case), "nothing goes to disk")
        with refused(InvalidJoin, "A query is running", str(case.state)), monkeypatch.context() as patched:
            patched.setattr(sooner.spark.states.rescaling, "alone", partial(alone, seconds=0.0))
            rescale(str(case.state), 8)
    go_on_to_a_rest_of_the_state(case)
    case.run_until_batch(case.progress[-1].batch + 2, partitions=8)
    assert "2 partitions" in caplog.text
    assert "became 8" in caplog.text
    assert "join in 8 partitions by 3 tasks" in ss.explain(case.joined(partitions=3))
    case.run(partitions=None)
    used = UsedState.at(str(case.state))
    assert (used.partitions, used.tasks) == (8, 3)
    assert case.written() == case.expected()
