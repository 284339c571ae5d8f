"""Which tests run when: those that wait for Spark first, and of long lists of cases a part, all in the long set."""

import random
import signal
from itertools import groupby

import pytest

# Two processes share the files, and none should be left with the longest: those of half a minute and more, then others
# on Spark, then those of ten seconds and more. Measured on two cores, by what they take of processors.
LONGEST = (
    "spark/test_killed_driver",
    "spark/test_submitted_program",
    "spark/test_join_faults",
    "spark/test_join_against_spark",
    "ui/test_demo",
    "spark/",
    "lab/test_pr_join_experiments",
    "operators/two_way/test_tasks_in_quanta",
    "operators/enrich/test_contract",
    "ui/test_plain_install",
    "local/test_spill_directory",
    "local/test_memory_in_bytes",
    "local/test_enrich_flights",
    "estimation/test_coverage",
    "lab/",
    "operators/",
)

# Under `nohup` the processes that tests start would ignore it too, and some are there to be hung up on.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)  # before tests are left out by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for name, cases in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        mark_long_what_is_not_drawn(name, list(cases))
    items.sort(key=lambda item: next((n for n, name in enumerate(LONGEST) if name in item.nodeid), len(LONGEST)))


def mark_long_what_is_not_drawn(name: str, cases: list[pytest.Item]) -> None:
    """Of a test that is marked `one_in(n)` the same part of its cases each time; the others are in the long set.

    One of each n neighbours is drawn, so that every value of a parameter with n values or more beside it has its turn.
    """
    if (mark := cases[0].get_closest_marker("one_in")) is not None:
        [neighbours], dice = mark.args, random.Random(name)
        for first in range(0, len(cases), neighbours):
            some = cases[first : first + neighbours]
            drawn = dice.choice(some)
            for case in some:
                if case is not drawn:
                    case.add_marker("long")
