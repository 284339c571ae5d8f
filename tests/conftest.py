"""Tests that wait for Spark come first: two processes share the files, and none should be left with the longest."""

import signal

import pytest

LONGEST = (
    "spark/test_killed_driver",
    "spark/test_join_against_spark",
    "ui/test_demo",
    "spark/test_join_faults",
    "operators/test_conformance",
    "operators/two_way/test_tasks_in_quanta",
    "spark/",
)

# Under `nohup` the processes that tests start would ignore it too, and some are there to be hung up on.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((n for n, name in enumerate(LONGEST) if name in item.nodeid), len(LONGEST)))
