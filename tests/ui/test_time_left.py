"""How long a query will still take: by what is left to read and to clean up, with an error that was measured."""

import pytest

from sooner.local.running import QueryProgress
from sooner.phases import Phase
from sooner.progress import Progress
from sooner.ui.dashboard.time_left import Clock, TimeLeft

ALL_ROWS = 1_000_000


def progress(rows: int, phase: Phase = "arriving", on_disk: int = 0, covered: float = 0.5) -> Progress:
    held = (rows - on_disk) // 2
    return Progress(phase, (rows // 2,) * 2, (held,) * 2, 80 * held, 80 * held, (on_disk // 2,) * 2, 40 * on_disk,
                    (0, 0), rows, 1.0, covered)  # fmt: skip


def test_where_nobody_knows_how_many_rows_there_are_nothing_is_said() -> None:
    clock = Clock()
    assert clock.look(1.0, progress(1000), None) is None
    assert clock.rate == 1000
    assert clock.look(2.0, progress(2000), ALL_ROWS) is None  # too few yet


def test_rows_that_come_evenly_take_as_long_as_before_and_that_is_certain() -> None:
    clock = Clock()
    for second in range(1, 9):
        left = clock.look(float(second), progress(100_000 * second), ALL_ROWS)
        assert left is not None
        assert left.seconds == pytest.approx(10 - second)
    assert left.error_seconds == pytest.approx(0.0)
    assert str(left) == "about 2.0 s left (± 0.0 s)"


def test_when_sources_become_slow_it_takes_longer_and_the_error_says_so() -> None:
    clock = Clock()
    for second in range(1, 5):
        before = clock.look(float(second), progress(100_000 * second), ALL_ROWS)
    lefts = [clock.look(float(s), progress(400_000 + 10_000 * (s - 4)), ALL_ROWS) for s in range(5, 20)]
    assert before is not None
    assert before.seconds < 7
    assert lefts[1] is not None
    assert lefts[1].error_seconds is not None
    assert lefts[1].error_seconds > 5
    assert lefts[-1] == TimeLeft(pytest.approx((ALL_ROWS - 550_000) / 10_000), pytest.approx(0.0))


def test_until_the_next_piece_is_due_all_goes_as_it_was_said() -> None:
    """Where there is room, a piece may be as large as all before it."""
    clock = Clock()
    for second, rows in ((1.0, 100_000), (2.0, 200_000), (4.0, 400_000)):
        clock.look(second, progress(rows), ALL_ROWS)
    in_between = clock.look(7.0, progress(400_000), ALL_ROWS)
    assert in_between is not None
    assert in_between.seconds == pytest.approx(3.0)
    late = clock.look(20.0, progress(400_000), ALL_ROWS)
    assert late is not None
    assert late.seconds > 12


def test_of_a_long_query_more_than_the_last_looks_count() -> None:
    clock = Clock()
    for second in range(1, 1000):
        rows = 1000 * second if second < 700 else 700_000 + 100 * (second - 700)
        left = clock.look(float(second), progress(rows), ALL_ROWS)
    assert left is not None
    assert left.seconds == pytest.approx(270_100 / (229_900 / 499), rel=0.1)


def test_rows_on_disk_are_work_that_is_left() -> None:
    all_fits, too_little = Clock(memory_bytes=2**30), Clock(memory_bytes=8_000_000)
    for second in (1.0, 2.0):
        fits = all_fits.look(second, progress(int(50_000 * second)), ALL_ROWS)
        spills = too_little.look(second, progress(int(50_000 * second)), ALL_ROWS)
    assert fits is not None
    assert spills is not None
    assert fits.seconds == pytest.approx(18)
    assert spills.seconds > 1.3 * fits.seconds


def test_the_clean_up_goes_on_as_it_went() -> None:
    clock, lefts = Clock(), []
    for second in range(1, 11):
        clock.look(float(second), progress(100_000 * second), ALL_ROWS)
    for second in range(11, 20):  # from half to all in ten seconds
        covered = 0.5 + 0.05 * (second - 11)
        left = clock.look(float(second), progress(ALL_ROWS, "clean-up", covered=covered), ALL_ROWS)
        lefts.append(0.0 if left is None else left.seconds)
    assert lefts[-1] == pytest.approx(2.0, rel=0.25)
    assert clock.look(21.0, progress(ALL_ROWS, "done", covered=1.0), ALL_ROWS) == TimeLeft(0.0, 0.0)


def test_what_goes_to_disk_many_times_the_memory_is_merged_before_the_clean_up_and_counted_once() -> None:
    """At the end 40 times the memory is on disk, of which each row is written anew once; or 20 times, and none is."""
    lefts = dict[int, float]()
    for times in (20, 40):
        clock, held = Clock(), ALL_ROWS // (times + 1)
        for second in (1.0, 2.0):
            left = clock.look(second, progress(int(80_000 * second), on_disk=int(80_000 * second) - held), ALL_ROWS)
        assert left is not None
        lefts[times] = left.seconds
    assert lefts[40] - lefts[20] == pytest.approx(0.8 * 840_000 / 80_000, rel=0.1)
    for second in range(3, 9):  # from now on half of the time goes to merging, and the speed tells so itself
        told: Phase = "reactive" if second % 2 else "arriving"
        rows = 160_000 + 40_000 * (second - 2)
        left = clock.look(float(second), progress(rows, told, on_disk=rows - held), ALL_ROWS)
    assert left is not None
    assert left.seconds == pytest.approx((ALL_ROWS - 400_000) / 40_000 + 0.45 * ALL_ROWS / 80_000, rel=0.15)


def test_rows_of_an_input_that_is_read_last_are_read_while_they_wait() -> None:
    """Of the many only the reading is left, which has begun."""
    few, many, shares = 100_000, 900_000, (0.25, 0.5, 0.75)

    def when(share: float, held: int) -> QueryProgress:
        one = vars(progress(0)) | {"arrived_rows": (0, int(share * few))}
        return QueryProgress(**one, expected_rows=(many, few), held_rows=(held, 0))

    ahead, without = Clock(), Clock()
    for share in shares:
        reads = ahead.look(share, when(share, int(share * 300_000)), ALL_ROWS)
        waits = without.look(share, when(share, 0), ALL_ROWS)
    assert reads is not None
    assert reads.seconds == pytest.approx((ALL_ROWS - 300_000) / 400_000, rel=0.01)
    assert waits is not None
    assert waits.seconds > 3 * reads.seconds


def test_when_all_rows_have_come_the_last_piece_still_takes_its_time() -> None:
    clock = Clock()
    for second, rows in ((1.0, 250_000), (2.0, 500_000), (4.0, ALL_ROWS)):
        left = clock.look(second, progress(rows, covered=1.0), ALL_ROWS)
    assert left is not None
    assert left.seconds == pytest.approx(2.0, rel=0.01)


def test_what_comes_before_the_first_rows_says_nothing_of_speed() -> None:
    clock = Clock()
    for second, rows in ((4.0, 0), (8.0, 0), (9.0, 100_000), (10.0, 200_000)):
        left = clock.look(second, progress(rows), ALL_ROWS)
    assert left is not None
    assert left.seconds == pytest.approx(8.0, rel=0.01)
