"""A state belongs to one join of one query; whatever else comes with it is refused in a sentence."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from join_steps import Arriving, Lane, nothing, pairs_in, plan_of, run, same, summary_of
from queries import numbered, refused
from sooner.errors import InvalidJoin, SpillFailed, StateCorrupted
from sooner.operators.two_way.plan import INPUTS
from sooner.runs.formats.versions import Header, Versions
from sooner.spark.dataflow.endings import note_end
from sooner.spark.step.layout import partition_directory
from sooner.spark.step.state_directory import location_of, open_state, start_from, stored_identity

IDENTITY: dict[str, Any] = {
    "partitions": 2,
    "algorithm": "rpj",
    "left": "struct<k:bigint>",
    "right": "struct<k:int>",
    "keys": [["k"], ["k"]],
    "arrow": "false",
    "query": "q-1",
}
OTHERS: dict[str, tuple[Any, str]] = {
    "partitions": (3, "another number of partitions: 2 there, 3 here"),
    "algorithm": ("hmj", "another algorithm"),
    "left": ("struct<k:string>", "other columns on the left"),
    "right": ("struct<k:string>", "other columns on the right"),
    "keys": ([["a"], ["k"]], "other keys"),
    "arrow": ("true", "other Arrow settings"),
    "query": ("q-2", "another query (id q-1)"),
}


def used_state(folder: Path) -> Versions:
    """A state with version 4."""
    directory = partition_directory(str(folder), 0)
    Path(directory).mkdir(parents=True)
    versions = Versions(pafs.LocalFileSystem(), directory)
    versions.publish(Header(4, IDENTITY, {}), {"rows": 1})
    return versions


def test_home_and_parent_in_a_state_are_followed_and_other_links_keep_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "below")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "elsewhere")
    state = str(tmp_path / "state")
    for given in ("~/state", Path("~/state"), "~/nowhere/../state", "../state", f"file:{state}", f"{state}/", state):
        assert location_of(given) == state
    assert location_of("~/link/../state") == str(tmp_path / "elsewhere" / "state")
    assert location_of("~/link/state") == str(tmp_path / "link" / "state")
    assert location_of(f"file://{state}/~/..") == f"file://{state}/~/.."  # a URI says what it says


def test_the_state_goes_on_for_its_own_join(tmp_path: Path) -> None:
    assert start_from(used_state(tmp_path), 5, IDENTITY, str(tmp_path), 0) == {"rows": 1}
    assert stored_identity(str(tmp_path)) == IDENTITY
    assert stored_identity(str(tmp_path / "new")) is None


def test_a_first_batch_that_was_cut_off_tells_whose_the_state_is(tmp_path: Path) -> None:
    """Other partitions than the first may have been faster."""
    versions = used_state(tmp_path)
    Path(partition_directory(str(tmp_path), 0)).rename(partition_directory(str(tmp_path), 2))
    Path(partition_directory(str(tmp_path), 0)).mkdir()
    Path(partition_directory(str(tmp_path), 1)).mkdir()
    assert versions.published() == []
    assert stored_identity(str(tmp_path)) == IDENTITY


@pytest.mark.parametrize("version", [0, 5])
@pytest.mark.parametrize("what", OTHERS)
def test_a_step_of_another_join_or_query_is_refused(what: str, version: int, tmp_path: Path) -> None:
    value, mention = OTHERS[what]
    with refused(InvalidJoin, mention, str(tmp_path)):
        start_from(used_state(tmp_path), version, IDENTITY | {what: value}, str(tmp_path), 0)


def test_a_version_that_is_missing_is_explained(tmp_path: Path) -> None:
    with refused(StateCorrupted, "Partition 3", "no version 6", "limit", "another checkpoint"):
        start_from(used_state(tmp_path), 7, IDENTITY, str(tmp_path), 3)


@pytest.mark.parametrize("path", ["/a/b", "file:/a/b", "file:///a/b", "file:///a/b/"])
def test_a_path_and_its_uris_mean_the_same(path: str) -> None:
    assert open_state(path)[1] == "/a/b"


@pytest.mark.parametrize("state", [None, 5, "", "nowhere://x/y"])
def test_what_is_no_directory_is_refused(state: Any) -> None:
    with refused(InvalidJoin, "state="):
        location_of(state)


# Steps


def test_a_partition_is_known_by_its_mark(tmp_path: Path) -> None:
    left, right = numbered(50, 10, 1, "a"), numbered(50, 10, 2, "b")
    plan = plan_of(left.schema, right.schema, tmp_path)
    run(plan, 0, Arriving(left, right), place=5)
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["partition-00005"]


def test_rows_after_the_end_are_counted_and_left_out(tmp_path: Path) -> None:
    left, right = numbered(50, 10, 1, "a"), numbered(50, 10, 2, "b")
    plan = plan_of(left.schema, right.schema, tmp_path)
    lane = Lane(plan)
    lane.step(Arriving(left, right.slice(0, 20), (True, False)))
    assert len(lane.step(Arriving(left, right.slice(20)))) > 0
    lane.step(Arriving(left.slice(0, 7), right.slice(0, 0)))
    assert summary_of(plan, 2)["late_rows"] == [57, 0]
    met = pairs_in(lane.results)
    lane.step(nothing(plan, (True, True)))
    lane.step(Arriving(left.slice(0, 1), right.slice(0, 2), (True, True)))
    assert summary_of(plan, 4)["late_rows"] == [58, 2]
    assert summary_of(plan, 4)["progress"]["phase"] == "done"
    assert same(met, pairs_in(lane.results))


def test_every_batch_gives_a_version_even_one_without_a_row_and_a_pulse(tmp_path: Path) -> None:
    """So a batch that nobody read is missed by the next one, whatever it brings."""
    left, right = numbered(50, 10, 1, "a"), numbered(50, 10, 2, "b")
    plan = plan_of(left.schema, right.schema, tmp_path)
    lane = Lane(plan)
    lane.step(Arriving(left, right))
    lane.step(nothing(plan))
    assert summary_of(plan, 1)["was_busy"] is False
    with refused(StateCorrupted, "no version 2", "limit"):
        run(plan, 3, Arriving(left, right))


# Only for its owner


@pytest.fixture
def everybody_may_everything() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("everybody_may_everything")
def test_a_state_is_private_whatever_the_umask(tmp_path: Path) -> None:
    left, right = numbered(2000, 500, 1, "a"), numbered(2000, 500, 2, "b")
    lane = Lane(plan_of(left.schema, right.schema, tmp_path, algorithm="hmj"))
    for begin in range(0, 2000, 500):
        lane.step(Arriving(left.slice(begin, 500), right.slice(begin, 500)))
    for side in (0, 1, 1):
        note_end(lane.plan.state, INPUTS[side], "query")
    for kind in ("state", "shared-memory"):
        found = [tmp_path / kind, *(tmp_path / kind).rglob("*")]
        assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}
        assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()} == {0o600}
    names = {path.name for path in (tmp_path / "state").rglob("*")}
    assert {"left-has-ended", "right-has-ended", "partition-00000", "000000000003.json"} < names
    assert any(name.endswith(".arrows") for name in names)


@pytest.mark.usefixtures("everybody_may_everything")
def test_a_state_directory_of_the_user_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(0o750)
    left, right = numbered(50, 10, 1, "a"), numbered(50, 10, 2, "b")
    run(plan_of(left.schema, right.schema, tmp_path), 0, Arriving(left, right))
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "state" / "partition-00000").stat().st_mode) == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_driver_that_runs_as_another_user_is_told_so(tmp_path: Path) -> None:
    versions = used_state(tmp_path)
    os.seteuid(12345)
    try:
        for look in (versions.published, lambda: versions.header(4), lambda: versions.load(4)):
            with refused(SpillFailed, str(tmp_path), "run driver and executors as one user"):
                look()
    finally:
        os.seteuid(0)
