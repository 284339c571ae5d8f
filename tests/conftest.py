"""Which tests run when and where: those in a session first, and of long lists of cases a part, all in the long set."""

import random
import signal
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# Of two processes one runs all tests in a session of Spark, which takes half a minute to warm up. The other begins with
# the rest, file by file, and gets help as soon as the first is through: neither should be left with the longest.
# Measured on two cores, by what they take of processors.
IN_SESSION = "spark"
LONGEST = (
    "ui/test_demo",
    "spark/",
    "operators/multiway/",
    "operators/test_conformance",
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

# Hypothesis draws the same cases each time, and takes whatever time a busy machine needs for them.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

# Under `nohup` the processes that tests start would ignore it too, and some are there to be hung up on.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class OneForSpark(LoadScopeScheduling):
    """All files with tests in the Spark session are for one process, and any other file for whichever takes it."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return IN_SESSION if uses_session(self.config.rootpath / file) else file


@cache
def uses_session(file: Path) -> bool:
    """Who deals out the tests knows their names only: the file says what its tests ask for."""
    return f"{IN_SESSION}: SparkSession" in file.read_text()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneForSpark:
    return OneForSpark(config, log)


@pytest.hookimpl(tryfirst=True)  # before tests are left out by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for name, cases in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        mark_long_what_is_not_drawn(name, list(cases))
    items.sort(key=turn_of)


def needs_session(item: pytest.Item) -> bool:
    return IN_SESSION in getattr(item, "fixturenames", ())


def turn_of(item: pytest.Item) -> tuple[bool, int]:
    length = next((number for number, name in enumerate(LONGEST) if name in item.nodeid), len(LONGEST))
    return not needs_session(item), length


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
