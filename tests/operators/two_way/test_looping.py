"""Which chunks a nested loop joins, and when the sides change roles (DINER sec. 3.4, Algorithm 4)."""

from dataclasses import dataclass
from pathlib import Path

from joins import arrive, end, flat, new_join, rows
from schedules import RowPairs
from sooner.operators.events import Event, Looped
from sooner.operators.state.looping import Loop, next_chunk
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import BUSY, SILENT, EvictAll, Surroundings
from sooner.runs.ledger import CoveredCells
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.testing.invariants import check_invariants

TEN = 10
PLENTY = 10**9


@dataclass(frozen=True)
class Spilled:
    number: int
    level: int = 0
    n_rows: int = TEN
    n_bytes: int = TEN


class Disk:
    """Runs of both sides, of ten rows and bytes each, and the loop over them."""

    def __init__(self, left: int, right: int, max_outer_bytes: int = PLENTY) -> None:
        self.runs = [[Spilled(number) for number in range(1, n + 1)] for n in (left, right)]
        self.cells = CoveredCells()
        self.loop = Loop(LEFT)
        self.max_outer_bytes = max_outer_bytes

    def flush(self, side: int) -> None:
        self.runs[side].append(Spilled(len(self.runs[side]) + 1))

    def join(self) -> tuple[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        """The next chunk; gives which side was the outer one."""
        chunk = next_chunk(self.runs[LEFT], self.runs[RIGHT], self.cells, self.loop, self.max_outer_bytes)
        assert chunk is not None
        self.cells.cover(*chunk.runs)
        self.loop = chunk.loop
        return self.loop.outer, chunk.runs


def test_chunks_of_the_outer_side_meet_all_of_the_inner_one() -> None:
    disk = Disk(5, 3, max_outer_bytes=2 * TEN)
    assert disk.join() == (LEFT, ((1, 2), (1, 2, 3)))
    assert disk.join() == (LEFT, ((3, 4), (1, 2, 3)))
    assert disk.join() == (LEFT, ((5,), (1, 2, 3)))
    assert next_chunk(*disk.runs, disk.cells, disk.loop, PLENTY) is None


def test_a_run_that_is_larger_than_a_chunk_is_one() -> None:
    assert Disk(2, 1, max_outer_bytes=1).join() == (LEFT, ((1,), (1,)))


def test_roles_change_when_the_outer_side_is_through() -> None:
    """Point 3: what has left memory of the inner side meanwhile is the outer side then, and meets what is left."""
    disk = Disk(4, 2, max_outer_bytes=2 * TEN)
    assert disk.join() == (LEFT, ((1, 2), (1, 2)))
    disk.flush(RIGHT)
    assert disk.join() == (LEFT, ((3, 4), (1, 2, 3)))
    disk.flush(LEFT)
    assert disk.join() == (LEFT, ((5,), (1, 2, 3)))
    assert disk.join() == (RIGHT, ((1, 2), (3,)))
    disk.flush(LEFT)
    assert disk.join() == (LEFT, ((6,), (1, 2, 3)))
    assert next_chunk(*disk.runs, disk.cells, disk.loop, PLENTY) is None


def test_the_share_of_a_chunk_is_its_part_of_what_is_open() -> None:
    disk = Disk(4, 2, max_outer_bytes=TEN)
    disk.cells.cover((1, 2, 3), (1,))  # 5 cells are open, of which the first chunk has one and the last two
    shares = []
    while (chunk := next_chunk(*disk.runs, disk.cells, disk.loop, TEN)) is not None:
        shares.append(chunk.share)
        disk.join()
    assert shares == [1 / 5, 1 / 4, 1 / 3, 1]


# In a join


def on_disk(directory: Path, listener: list[Event]) -> TwoWayJoin[RowPairs]:
    """Three runs of each side; those of one have left before the other's rows came."""
    join = new_join(directory, "diner", order="values", listener=listener.append)
    for step in range(3):
        for side in SIDES:
            keys = rows(list(range(40)), range(100 * step, 100 * step + 40))
            arrive(join, *((keys, None) if side == LEFT else (None, keys)))
            join.evict([EvictAll(side, 0)])
    return join


def test_it_goes_on_while_few_rows_wait_and_hands_over_when_they_are_many(tmp_path: Path) -> None:
    join = on_disk(tmp_path, [])

    def waiting(n_rows: int) -> Surroundings:
        return Surroundings(waiting_rows=(n_rows, 0), after_silence=True)

    assert not join.has_work(BUSY)
    assert join.has_work(SILENT)
    found = flat(join.work(500, SILENT))
    assert join._tasks, "it is in the middle of a chunk"
    assert join.has_work(waiting(1000))
    found += flat(join.work(500, waiting(1000)))
    assert not join.has_work(waiting(1001))
    assert flat(join.work(500, waiting(1001))) == []
    arrive(join, rows([500]), None)
    assert not join.has_work(BUSY)
    while join.has_work(SILENT):
        found += flat(join.work(500, SILENT))
    assert len(found) == len(set(found)) == 40 * 3 * 3
    assert end(join) == []


def test_other_algorithms_let_no_row_wait_not_even_for_tidying(tmp_path: Path) -> None:
    join = new_join(tmp_path, "hmj", crowd=2)
    for step in range(4):
        arrive(join, rows(list(range(20))), rows(list(range(20))))
        join.evict([EvictAll(step % 2, 0)])
    assert join.has_work(BUSY), "there is something to tidy up"
    assert not join.has_work(Surroundings(waiting_rows=(1, 0), after_silence=True))


def test_it_says_what_has_met(tmp_path: Path) -> None:
    events: list[Event] = []
    join = on_disk(tmp_path, events)
    while join.has_work(SILENT):
        flat(join.work(2**62, SILENT))
    looped = [event for event in events if isinstance(event, Looped)]
    assert [(event.n_runs, event.cells) for event in looped] == [(6, (((1, 2, 3), (1, 2, 3)),))]
    assert join.view().unmet_on_disk.tolist() == [0]


def test_runs_that_are_alike_are_tidied_up_between_two_chunks(tmp_path: Path) -> None:
    """A loop that always finds something more to join must not keep runs from becoming few."""
    join = new_join(tmp_path, "diner", order="values", crowd=4, budget_rows=60)
    most = 0
    for step in range(150):
        keys = [(7 * step + at) % 90 for at in range(10)]
        arrive(join, rows(keys, range(10 * step, 10 * step + 10)), rows(keys[::-1], range(10 * step, 10 * step + 10)))
        flat(join.work(8_000, SILENT if step % 4 == 0 else BUSY))
        most = max(most, int(join.view().spilled_runs.max()))
    assert most < 50, "there are 74 if no two of them ever become one"
    check_invariants(join)
