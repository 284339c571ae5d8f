"""`sooner state`: what is in a state, whether it is whole, its rows, and other partitions for it."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rescaled_joins import PlacedLane, plan_for
from sooner.spark.states.contents import UsedState, segments_in
from sooner.spark.step.in_use import note_done
from sooner.ui.command_line import main
from step_schedules import step_schedule


def lane_with_a_state(folder: Path, *, ranged: bool = False) -> PlacedLane:
    schedule = step_schedule(3, ranged=ranged)
    lane = PlacedLane(plan_for(schedule, folder, "hmj", "inner", 2), [schedule.left.schema, schedule.right.schema])
    for arriving in schedule.steps:
        lane.step(arriving)
    note_done(lane.plan.state, lane.version - 1)
    return lane


@pytest.fixture
def lane(tmp_path: Path) -> PlacedLane:
    return lane_with_a_state(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, fails: bool = False) -> str:
    assert main(["state", *arguments]) == int(fails)
    told = capsys.readouterr()
    return told.err if fails and told.err else told.out


def test_info_says_whose_a_state_is_and_what_is_in_it(lane: PlacedLane, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "info", lane.plan.state)
    version = lane.version - 1
    for mention in ("hmj", "2, by 2 tasks", f"{version} for certain", "rows arrived", "partition 1"):
        assert mention in told


def test_check_finds_a_state_whole(lane: PlacedLane, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", lane.plan.state).startswith("whole: 4 versions of partitions, ")


def test_check_names_a_file_that_is_damaged_one_that_is_gone_and_a_version_that_is_missing(
    lane: PlacedLane, capsys: pytest.CaptureFixture[str]
) -> None:
    used = UsedState.at(lane.plan.state)
    _, newest = used.versions()[1].load(lane.version - 1)
    named = sorted({segment["file"] for segment in segments_in(newest)})
    damaged, gone = (Path(used.directory(1), file) for file in named[-2:])
    damaged.write_bytes(bytes(damaged.stat().st_size))
    gone.unlink()
    manifest = Path(lane.plan.state, "partition-00000", f"{lane.version - 2:012}.json")
    manifest.write_bytes(manifest.read_bytes().replace(b"tick", b"tock"))
    told = said(capsys, "check", lane.plan.state, fails=True).splitlines()
    assert any(damaged.name in line and "damaged" in line for line in told)
    assert any(gone.name in line and "is gone" in line for line in told)
    assert any(manifest.name in line and "damaged" in line for line in told)
    assert told[-1].startswith("damaged: ")
    manifest.unlink()
    manifest.with_name(f"{lane.version - 1:012}.json").unlink()
    assert "no version that all of its 2 partitions have" in said(capsys, "check", lane.plan.state, fails=True)


@pytest.mark.parametrize("ranged", [False, True])
def test_export_writes_each_row_once(ranged: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those of a side that is copied to several partitions."""
    lane = lane_with_a_state(tmp_path, ranged=ranged)
    schedule = step_schedule(3, ranged=ranged)
    told = said(capsys, "export", lane.plan.state, str(tmp_path / "rows"))
    for side, (name, number) in enumerate((("left", "a"), ("right", "b"))):
        rows = pq.read_table(tmp_path / "rows" / f"{name}.parquet")
        assert f"{name}.parquet: {rows.num_rows:,} rows" in told
        table = (schedule.left, schedule.right)[side]
        numbers = rows.column(number).to_numpy()
        assert len({*numbers.tolist()}) == len(numbers)
        assert rows.sort_by(number).equals(table.take(sorted(numbers)))
        assert rows.num_rows >= table.drop_null().num_rows / 2


def test_rescale_gives_more_partitions_and_says_what_moved(
    lane: PlacedLane, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "now stop the query" in said(capsys, "rescale", lane.plan.state, "--partitions", "8", "--ahead")
    assert "2 partitions" in (told := said(capsys, "rescale", lane.plan.state, "--partitions", "8"))
    assert "became 8, for 8 tasks" in told
    assert "nothing on disk" in said(capsys, "rescale", lane.plan.state, "--partitions", "3", "--ahead")
    assert "no row had to move" in said(capsys, "rescale", lane.plan.state, "--partitions", "3")
    assert said(capsys, "check", lane.plan.state).startswith("whole: 8 versions")
    assert "8, by 3 tasks" in said(capsys, "info", lane.plan.state)


def test_what_is_no_state_and_no_number_of_partitions_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["info"], ["check"], ["rescale", "--partitions", "2"]):
        assert "no state that a query has used" in said(capsys, *command, str(tmp_path), fails=True)
    for wrong in ("0", "-1", "many"):
        with pytest.raises(SystemExit):
            main(["state", "rescale", str(tmp_path), "--partitions", wrong])
