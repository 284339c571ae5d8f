"""A disk that takes no more: a sentence with the directory, a state that stays, and the answer once there is room."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from join_steps import Arriving, Lane, nothing, pairs_in, plan_of, run, same
from queries import numbered, refused
from sooner.errors import SpillFailed

ROWS, STEP = 4000, 1000
LEFT, RIGHT = numbered(ROWS, 900, 1, "a"), numbered(ROWS, 900, 2, "b")


def lane_in(folder: Path, algorithm: str) -> Lane:
    return Lane(plan_of(LEFT.schema, RIGHT.schema, folder, algorithm=algorithm))


def arriving(version: int) -> Arriving:
    return Arriving(LEFT.slice(version * STEP, STEP), RIGHT.slice(version * STEP, STEP))


@contextmanager
def no_file_larger_than(n_bytes: int) -> Iterator[None]:
    """The system refuses it to this process, as it refuses what a full disk cannot take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("algorithm", "most_bytes"), [("rpj", 2000), ("hmj", 0)])
def test_a_step_that_finds_the_disk_full_leaves_the_state_as_it_was(
    algorithm: str, most_bytes: int, tmp_path: Path
) -> None:
    lane, smooth = lane_in(tmp_path / "full", algorithm), lane_in(tmp_path / "roomy", algorithm)
    for version in range(ROWS // STEP):
        if version == 2:
            before = {path: path.read_bytes() for path in Path(lane.plan.state).rglob("*.json")}
            for _ in range(2):  # a retry finds the same
                with refused(SpillFailed, lane.plan.state, "Free some space"), no_file_larger_than(most_bytes):
                    run(lane.plan, version, arriving(version))
            assert {path: path.read_bytes() for path in Path(lane.plan.state).rglob("*.json")} == before
            assert not list(Path(lane.plan.state).rglob(f"{version:012}.json"))
        assert same(lane.step(arriving(version)), smooth.step(arriving(version)))
    assert same(lane.end(), smooth.end())
    assert same(pairs_in(lane.results), pairs_in(smooth.results))
    lane.step(nothing(lane.plan))
