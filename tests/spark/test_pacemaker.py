"""The pacemaker: it has news while there is something to do, and the same again when a batch runs again."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from stream_reading import stops_by_itself

import sooner.spark.dataflow.pacemaker
import sooner.spark.step.step
from join_steps import QUERY, Arriving, Lane, nothing, pairs_in, plan_of, run, same, summary_of
from joins import DISTINCT, OTHER_JOINS
from queries import numbered
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.two_way.plan import INPUTS
from sooner.sides import LEFT, RIGHT
from sooner.spark.dataflow.endings import note_end
from sooner.spark.dataflow.figures import figures_of
from sooner.spark.dataflow.pacemaker import LOOK_SECONDS, PulseReader, Pulses, PulseStream
from sooner.spark.session.versions import ReadAllAvailable
from sooner.spark.shuffle.row_kinds import SETTLING
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.standing import read_standing
from step_schedules import StepSchedule, step_schedule

PIECES = 6


@dataclass
class Rounds:
    """Spark without Spark: ask the pacemaker, and run a batch if rows or a pulse have come."""

    lane: Lane
    reader: PulseReader
    offset: dict[str, Any] = field(default_factory=dict)
    pulses: int = 0

    def __post_init__(self) -> None:
        self.offset = self.offset or self.reader.initialOffset()

    def round(self, arriving: Arriving | None = None) -> bool:
        """Whether there was a batch."""
        rows, self.offset = self.reader.read(self.offset)
        rows = list(rows)
        if not rows and arriving is None:
            return False
        batch = arriving or nothing(self.lane.plan)
        if rows:
            self.pulses += 1
            [(bits, settling, *_)] = rows
            ended = bool(bits & 1), bool(bits & 2)
            batch = Arriving(batch.left, batch.right, ended, SETTLING[settling])
        self.lane.step(batch)
        return True

    def until_rest(self) -> int:
        """How many batches the pacemaker asks for before it rests."""
        for batches in range(100):
            if not self.round():
                return batches
        raise AssertionError("the pacemaker does not rest")


def rounds(plan: StepPlan) -> Rounds:
    return Rounds(Lane(plan), PulseReader(plan.state, 1, INPUTS))


TABLES = numbered(600, 60, 1, "a"), numbered(600, 60, 2, "b")


def arriving(part: int) -> Arriving:
    size = TABLES[LEFT].num_rows // PIECES
    return Arriving(*(table.slice(part * size, size) for table in TABLES))


def expected(parts: int = PIECES) -> int:
    rows = parts * TABLES[LEFT].num_rows // PIECES
    left, right = (table.slice(0, rows).column("k").to_pylist() for table in TABLES)
    return sum(left.count(key) for key in right)


def small_plan(folder: Path, algorithm: str = "rpj", memory_bytes: int = 2**14) -> StepPlan:
    return plan_of(TABLES[LEFT].schema, TABLES[RIGHT].schema, folder, algorithm=algorithm, memory_bytes=memory_bytes)


# Resting


def test_the_first_batch_has_a_pulse_and_without_rows_there_is_no_other(tmp_path: Path) -> None:
    query = rounds(small_plan(tmp_path))
    assert query.until_rest() == 1
    assert query.offset["pulse"] == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("algorithm", DISTINCT)
def test_after_each_batch_with_rows_comes_a_pulse_and_when_nothing_is_left_to_do_a_rest(
    algorithm: str, tmp_path: Path
) -> None:
    query = rounds(small_plan(tmp_path, algorithm))
    for part in range(PIECES):
        query.round(arriving(part))
    assert query.pulses == PIECES
    assert query.until_rest() >= 1
    versions = query.lane.version
    for _ in range(3):
        assert not query.round()
    assert summary_of(query.lane.plan, versions - 1)["has_work"] is False
    time.sleep(LOOK_SECONDS)
    assert not query.round()
    assert query.lane.version == versions


def test_a_join_is_settled_when_all_of_its_partitions_are(tmp_path: Path) -> None:
    plan = small_plan(tmp_path, "pmj", memory_bytes=2**13)
    for version in range(PIECES):
        run(plan, version, arriving(version), place=0)
        run(plan, version, nothing(plan), place=1)
    standing = read_standing(plan.state, 2, PIECES - 1)
    assert standing is not None
    assert standing.was_busy
    assert not standing.is_settled


def test_a_batch_with_rows_that_came_without_a_pulse_is_followed_by_one(tmp_path: Path) -> None:
    query = rounds(small_plan(tmp_path, memory_bytes=2**20))
    query.until_rest()
    pulses = query.pulses
    query.round(arriving(0))
    assert query.pulses == pulses, "nobody knew that rows would come"
    time.sleep(LOOK_SECONDS)
    assert query.until_rest() == 1
    assert query.pulses == pulses + 1


def test_a_run_begins_with_a_pulse_so_that_whoever_watches_it_hears_of_it(tmp_path: Path) -> None:
    query = rounds(small_plan(tmp_path))
    query.round(arriving(0))
    query.until_rest()
    again = Rounds(query.lane, PulseReader(query.lane.plan.state, 1, INPUTS), query.offset)
    assert again.until_rest() == 1


def test_looking_is_rare_while_the_pacemaker_rests_but_word_is_seen_within_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(tmp_path)
    query = rounds(plan)
    monkeypatch.setattr(sooner.spark.dataflow.pacemaker, "LOOK_SECONDS", 60)
    query.until_rest()
    for side in (LEFT, RIGHT):
        note_end(plan.state, INPUTS[side], QUERY)
    for _ in range(100):
        assert not query.round(), "it has looked"
    monkeypatch.undo()
    assert LOOK_SECONDS < 1
    time.sleep(LOOK_SECONDS)
    assert query.round()
    assert summary_of(plan, query.lane.version - 1)["progress"]["phase"] == "done"
    assert query.until_rest() == 0, "whoever watches the query may stop it now"
    time.sleep(sooner.spark.dataflow.pacemaker.LOOK_SECONDS)
    assert query.until_rest() == 1, "the last pulse tells that it is done"


# Words


@pytest.mark.parametrize(("sides", "bits"), [([], 0), ([LEFT], 1), ([RIGHT], 2), ([RIGHT, LEFT, LEFT], 3)])
def test_a_side_that_has_ended_is_in_the_pulse_after_the_first_batch(
    sides: list[int], bits: int, tmp_path: Path
) -> None:
    """Word may come before there is a batch, or a state at all."""
    query = rounds(small_plan(tmp_path))
    for side in sides:
        note_end(query.lane.plan.state, INPUTS[side], QUERY)
    query.round(arriving(0))
    assert query.offset["ended"] == 0
    query.until_rest()
    assert query.offset["ended"] == bits
    again = Rounds(query.lane, PulseReader(query.lane.plan.state, 1, INPUTS), query.offset)
    again.until_rest()
    assert again.offset["ended"] == bits


@pytest.mark.parametrize("word", ["a query that never ran", "", QUERY + "!"])
def test_a_word_left_by_a_query_that_never_ran_drops_no_row_of_a_new_one(word: str, tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    for side in (LEFT, RIGHT):
        note_end(plan.state, INPUTS[side], word)
    query = rounds(plan)
    for part in range(PIECES):
        query.round(arriving(part))
    query.until_rest()
    assert query.offset["ended"] == 0
    assert summary_of(plan, query.lane.version - 1)["late_rows"] == [0, 0]
    assert len(query.lane.end()) == expected()


def test_what_has_ended_stays_ended_even_if_the_word_is_lost(tmp_path: Path) -> None:
    reader = PulseReader(small_plan(tmp_path).state, 1, INPUTS)
    _, offset = reader.read({**reader.initialOffset(), "ended": 2})
    assert (offset["pulse"], offset["ended"]) == (1, 2)


def test_a_pulse_that_is_read_again_says_what_it_said_then(tmp_path: Path) -> None:
    query = rounds(small_plan(tmp_path))
    begin = query.offset
    query.round(arriving(0))
    first = query.offset
    note_end(query.lane.plan.state, INPUTS[LEFT], QUERY)
    query.round()
    again = PulseReader(query.lane.plan.state, 1, INPUTS)
    assert [row[:2] for row in again.readBetweenOffsets(begin, first)] == [(0, 0)]
    assert [row[:2] for row in again.readBetweenOffsets(first, query.offset)] == [(1, 0)]


# Queries that stop by themselves


@pytest.mark.one_in(3)
@pytest.mark.parametrize("work_bytes", [sooner.spark.step.step.WORK_BYTES, 1])
@pytest.mark.parametrize("algorithm", DISTINCT)
def test_with_available_now_all_that_is_there_is_joined_in_every_run(
    algorithm: str, work_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little disk work a step may do; the sides stay open, and a run without news has no batch."""
    monkeypatch.setattr(sooner.spark.step.step, "WORK_BYTES", work_bytes)
    query = rounds(small_plan(tmp_path, algorithm))
    for parts in (range(4), range(4, PIECES), range(0)):
        query.reader = PulseReader(query.lane.plan.state, 1, INPUTS)
        query.reader.prepareForTriggerAvailableNow()
        before = query.lane.version
        for part in parts:
            query.round(arriving(part))
        query.until_rest()
        assert bool(parts) == (query.lane.version > before)
        assert len(pairs_in(query.lane.results)) == expected(parts.stop or PIECES)
        assert summary_of(query.lane.plan, query.lane.version - 1)["progress"]["phase"] in ("arriving", "reactive")
    assert len(query.lane.end()) == expected()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("algorithm", DISTINCT)
def test_with_once_all_that_is_there_is_joined_in_the_one_batch_there_is(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.spark.step.step, "WORK_BYTES", 1)
    query = rounds(small_plan(tmp_path, algorithm))
    for parts in range(1, PIECES + 1):
        query.reader = PulseReader(query.lane.plan.state, 1, INPUTS)
        query.reader.prepare_for_one_batch()
        query.round(arriving(parts - 1))
        assert len(pairs_in(query.lane.results)) == expected(parts)
    for side in (LEFT, RIGHT):
        note_end(query.lane.plan.state, INPUTS[side], QUERY)
    query.round()
    assert summary_of(query.lane.plan, query.lane.version - 1)["progress"]["phase"] == "done"
    assert len(pairs_in(query.lane.results)) == expected()


def require_settled(algorithm: str, seed: int, folder: Path, how: str) -> None:
    """Keys of all kinds, hot ones, sides that end early; settled now and then, and then more arrives. Rows that match
    nothing are out by then if the other side has ended.
    """
    schedule = step_schedule(seed + 50 * list(ALGORITHMS).index(algorithm))
    plan = plan_of(
        schedule.left.schema,
        schedule.right.schema,
        folder,
        schedule.keys,
        schedule.keys,
        algorithm=algorithm,
        memory_bytes=schedule.memory_bytes,
        how=how,
    )
    lane = Lane(plan)
    for number, step in enumerate(schedule.steps):
        lane.step(step)
        summary = summary_of(plan, lane.version - 1)
        if step.settling == "at once":
            assert summary["is_settled"]
        if summary["is_settled"]:
            so_far = StepSchedule(schedule.kind, schedule.steps[: number + 1], schedule.memory_bytes)
            assert same(pairs_in(lane.results), so_far.expected(how, step.ended))
    assert same(lane.end(), schedule.expected(how))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("algorithm", DISTINCT)
def test_what_has_been_settled_is_what_has_arrived(algorithm: str, seed: int, tmp_path: Path) -> None:
    require_settled(algorithm, seed, tmp_path, "inner")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("number", "algorithm"), list(enumerate(DISTINCT)))
def test_what_has_been_settled_is_what_is_certain(number: int, algorithm: str, tmp_path: Path) -> None:
    require_settled(algorithm, 3, tmp_path, OTHER_JOINS[number % len(OTHER_JOINS)])


@stops_by_itself
def test_spark_lifts_the_limit_of_the_pacemaker_when_there_is_one_batch_only(tmp_path: Path) -> None:
    source = Pulses({"state": str(tmp_path / "state"), "partitions": "1", "inputs": "left,right"})
    stream = source.streamReader(None)
    assert isinstance(stream, PulseStream)
    begin = stream.initialOffset()
    assert stream.latestOffset(begin, stream.getDefaultReadLimit())["settling"] == "not now"
    end = stream.latestOffset(begin, ReadAllAvailable())
    assert end["settling"] == "at once"
    [row] = list(stream.getCache(begin, end) or ())[-1:]
    assert row[:2] == (0, SETTLING.index("at once"))
    assert len(row) == len(source.schema().split(", ")) == 3 + len(figures_of(INPUTS))


def test_pulses_tell_how_far_the_join_is(tmp_path: Path) -> None:
    query = rounds(small_plan(tmp_path, memory_bytes=2**20))
    query.round(arriving(0))
    rows, _ = query.reader.read(query.offset)
    [(_, _, _, *figures)] = rows
    told = dict(zip(figures_of(INPUTS), figures, strict=True))
    assert told["phase"] == "arriving"
    assert (told["arrived_left"], told["arrived_right"], told["results"]) == (100, 100, expected(1))
    assert told["resident_bytes"] > 0
    assert (told["spilled_bytes"], told["covered_fraction"]) == (0, 1.0)
