"""Rows that come for an input that takes none now: the state holds them, whatever happens to the steps."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from test_forged_states import manifest_of, places, rewritten, with_at

from join_steps import Arriving, Lane, Pairs, nothing, pairs_in, plan_of, run, same, summary_of, versions_of
from queries import numbered
from sooner.errors import StateCorrupted
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means, Port
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import LEFT, RIGHT

ROWS = 3_000


class RightFirst(TwoWayJoin[pa.RecordBatch]):
    """It takes no left row before the right has ended."""

    def port(self, which: int) -> Port:
        return "blocked" if which == LEFT and not self.inputs[RIGHT].ended else super().port(which)


@dataclass(frozen=True)
class RightFirstPlan(TwoWayPlan):
    def make(
        self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means
    ) -> TwoWayJoin[pa.RecordBatch]:
        join = super().make(names, schemas, storage, means)
        join.__class__ = RightFirst
        return join


LEFTS, RIGHTS = numbered(ROWS, 700, 1, "a"), numbered(ROWS, 700, 2, "b")
PIECES = [Arriving(LEFTS.slice(at, 1000), RIGHTS.slice(at, 1000)) for at in range(0, ROWS, 1000)]


def lane_in(folder: Path) -> Lane:
    plan = plan_of(LEFTS.schema, RIGHTS.schema, folder, memory_bytes=2**16)
    operator = RightFirstPlan(("k",), ("k",), ("_left", "_right"), ALGORITHMS["rpj"])
    return Lane(replace(plan, operator=operator))


def expected(folder: Path) -> Pairs:
    lane = Lane(plan_of(LEFTS.schema, RIGHTS.schema, folder / "plain", memory_bytes=2**16))
    for piece in PIECES:
        lane.step(piece)
    return lane.end()


def held_rows(lane: Lane) -> int:
    _, state = versions_of(lane.plan).load(lane.version - 1)
    return sum(piece["n_rows"] for piece in state["held"][LEFT]["pieces"])


def test_they_come_out_once_when_the_input_takes_them(tmp_path: Path) -> None:
    lane = lane_in(tmp_path)
    for number, piece in enumerate(PIECES):
        assert not len(lane.step(piece)), "no left row has met anything"
        assert held_rows(lane) == 1000 * (number + 1)
    lane.step(nothing(lane.plan, (True, False)))
    assert held_rows(lane) == ROWS, "what is held back comes before the end"
    lane.step(Arriving(LEFTS.slice(0, 7), RIGHTS.slice(0, 0)))
    assert summary_of(lane.plan, lane.version - 1)["late_rows"] == [7, 0]
    assert same(lane.end(), expected(tmp_path))
    assert held_rows(lane) == 0
    for _ in range(2):
        lane.step(nothing(lane.plan, (True, True)))
    files = {path.suffix for path in Path(lane.plan.state).glob("partition-00000/*")}
    assert files == {".json"}, "their files are gone"


def test_an_attempt_that_is_made_again_holds_and_gives_the_same(tmp_path: Path) -> None:
    lane = lane_in(tmp_path)
    for piece in [*PIECES, nothing(lane.plan, (False, True))]:
        once = pairs_in(run(lane.plan, lane.version, piece, seed=lane.version))
        assert same(once, lane.step(piece, seed=100 + lane.version)), "in another order, cut elsewhere"
    assert same(lane.end(), expected(tmp_path))


def test_what_somebody_forged_of_them_is_refused(tmp_path: Path) -> None:
    lane = lane_in(tmp_path)
    lane.step(PIECES[0])
    manifest = manifest_of(lane)
    sound = json.loads(manifest.read_bytes().split(b"\n")[1])
    refused = 0
    for path in places(sound["held"], ("held",)):
        for new in (None, -1, "../../other.arrows", [[1]], {"x": 1}):
            rewritten(manifest, state=json.dumps(with_at(sound, path, new)).encode())
            try:
                run(lane.plan, 1, nothing(lane.plan, (True, True)))
            except StateCorrupted:
                refused += 1
    assert refused > 40
    rewritten(manifest, state=json.dumps(sound).encode())
    with pytest.raises(StateCorrupted):
        rewritten(manifest, state=json.dumps(sound | {"held": []}).encode())
        run(lane.plan, 1, nothing(lane.plan, (True, True)))


def test_a_state_of_a_release_that_held_nothing_back_is_read(tmp_path: Path) -> None:
    lane = Lane(plan_of(LEFTS.schema, RIGHTS.schema, tmp_path, memory_bytes=2**16))
    for piece in PIECES:
        lane.step(piece)
    manifest = manifest_of(lane)
    state = json.loads(manifest.read_bytes().split(b"\n")[1])
    rewritten(manifest, state=json.dumps({key: state[key] for key in state if key != "held"}).encode())
    assert same(lane.end(), expected(tmp_path))
