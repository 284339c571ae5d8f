"""The simulated machine, by hand: pages of 100 bytes, 10 s at random, 1 s in sequence, memory for 1,000 bytes."""

from dataclasses import replace

import pytest

from sooner.lab.resources import PROCESSOR, Disk, Machine, Meter
from sooner.operators.events import Arrived, Entered, Event, Flushed, Inside, Merged, Scanned
from sooner.phases import Phase

MACHINE = Machine(Disk.with_accesses(100, 10.0, 1.0), memory_bytes=1000, comparison_seconds=0.5)
ONE_FILE = replace(MACHINE, flushed_to="a file for each side")


def seconds(*events: Event, machine: Machine = MACHINE, phase: Phase = "arriving") -> float:
    meter = Meter(machine)
    for event in events:
        meter.add(event, phase)
    return meter.spend()


def test_an_arriving_row_is_compared_with_a_fifth_of_its_partition() -> None:
    assert seconds(Arrived(1, (3, 4), compared=200)) == pytest.approx(200 / 5 * 0.5)


def test_a_flushed_partition_costs_a_seek_and_the_rest_of_its_pages_in_sequence() -> None:
    assert seconds(Flushed(1, 0, 0, n_rows=35, n_bytes=350)) == 10 + 3


def test_partitions_flushed_together_each_cost_a_seek_or_with_one_file_a_side_only_the_first_does() -> None:
    together = [Flushed(7, side, partition, 20, 200) for partition in (3, 4, 5) for side in (0, 1)]
    later = Flushed(9, 0, 3, 20, 200)
    assert seconds(*together, later) == 7 * (10 + 1)
    assert seconds(*together, later, machine=ONE_FILE) == 3 * (10 + 1) + 4 * 2


def test_a_scan_costs_a_seek_for_each_run() -> None:
    assert seconds(Scanned(1, 0, 0, n_runs=4, n_bytes=1050), phase="reactive") == 4 * 10 + 7


def test_what_lies_in_extents_costs_a_seek_for_each_of_them() -> None:
    in_extents = replace(MACHINE, disk=replace(MACHINE.disk, extent_pages=3))
    assert seconds(Scanned(1, 0, 0, n_runs=1, n_bytes=1050), machine=in_extents) == 4 * 9 + 11
    assert seconds(Scanned(1, 0, 0, n_runs=5, n_bytes=1050), machine=in_extents) == 5 * 9 + 11


def test_a_disk_may_write_slower_than_it_reads() -> None:
    slow = replace(MACHINE, disk=replace(MACHINE.disk, write_seconds=3.0))
    assert seconds(Scanned(1, 0, 0, 1, 400), machine=slow) == 9 + 4
    assert seconds(Flushed(1, 0, 0, 40, 400), machine=slow) == 9 + 4 * 3
    assert seconds(Merged(1, 0, 2, 400, 400), machine=slow, phase="reactive") == 4 * (9 + 1) + 4 * (9 + 3)


def test_a_merge_costs_a_seek_for_each_page_read_and_for_each_page_written() -> None:
    assert seconds(Merged(1, 0, n_runs=6, n_bytes=600, written_bytes=550), phase="reactive") == 12 * 10


def test_a_merge_may_read_run_after_run_and_write_a_file_for_each_side() -> None:
    machine = replace(MACHINE, merges="run after run")
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=600, written_bytes=0), machine=machine) == 3 * 9 + 6
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=600, written_bytes=550), machine=machine) == 3 * 9 + 6 + 2 * 9 + 6
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=1100, written_bytes=0), machine=machine) == 6 * 9 + 11


def test_joins_of_a_plan_have_files_of_their_own() -> None:
    together = [Flushed(7, 0, partition, 20, 200) for partition in (3, 4)]
    inside = [Inside(join, flushed) for join in ("b", "c") for flushed in together]
    assert seconds(*together, machine=ONE_FILE) == 9 + 4
    assert seconds(*inside, machine=ONE_FILE) == 2 * (9 + 4)


def test_a_merge_that_need_not_write_still_reads_page_by_page() -> None:
    assert seconds(Merged(1, 0, n_runs=2, n_bytes=600, written_bytes=0), phase="reactive") == 6 * 10


def test_the_clean_up_reads_run_after_run_as_often_as_the_memory_must_be_filled() -> None:
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=900, written_bytes=0), phase="clean-up") == 3 * 10 + 6
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=1900, written_bytes=0), phase="clean-up") == 6 * 10 + 13


def test_the_clean_up_by_the_papers_formula_reads_and_writes_every_page_at_random_in_each_pass() -> None:
    by_pages = replace(MACHINE, clean_up="page by page")
    meter = Meter(by_pages)
    for side, n_bytes in ((0, 12_000), (1, 900)):  # 120 and 9 pages: three passes with ten runs at a time
        meter.add(Flushed(1, side, 4, n_bytes // 10, n_bytes), "arriving")
    meter.spend()
    meter.add(Merged(2, 4, n_runs=2, n_bytes=12_900, written_bytes=0), "clean-up")
    assert meter.spend() == 3 * 2 * 129 * 10


def test_a_clean_up_of_nothing_and_a_change_of_phase_are_free() -> None:
    assert seconds(Merged(1, 0, 0, 0, 0), Entered(1, "done"), phase="clean-up") == 0


def test_each_resource_has_its_own_time_and_parts_of_a_work_follow_each_other_or_overlap() -> None:
    events = (Arrived(1, (1, 1), compared=50), Flushed(1, 0, 0, 20, 200), Flushed(1, 0, 1, 20, 200))
    for machine, elapsed in ((MACHINE, 5 + 22), (replace(MACHINE, overlap="at once"), 22)):
        meter = Meter(machine)
        for event in events:
            meter.add(event, "arriving")
        assert meter.spend() == elapsed
        assert meter.seconds == {PROCESSOR: 5, "disk": 22}
    meter = Meter(replace(MACHINE, overlap="at once"), ["table"])
    assert meter.spend([("table", 30.0), ("disk", 20.0)]) == 30
    assert meter.seconds["table"] == 30


def test_what_is_appended_to_one_log_costs_no_seek_whatever_its_extents() -> None:
    log = replace(MACHINE, flushed_to="one log", disk=replace(MACHINE.disk, extent_pages=1))
    assert seconds(*(Flushed(1, side, 0, 20, 200) for side in (0, 1)), machine=log) == 4


def test_a_partition_joined_as_a_whole_is_read_page_by_page_or_run_after_run() -> None:
    joined, merged = Merged(1, 0, n_runs=3, n_bytes=900, written_bytes=0), Merged(1, 0, 3, 900, written_bytes=900)
    by_runs = replace(MACHINE, whole_partitions="run after run")
    in_extents = replace(by_runs, disk=replace(MACHINE.disk, extent_pages=2))
    assert seconds(joined) == 9 * 10
    assert seconds(joined, machine=by_runs) == 3 * 10 + 6
    assert seconds(joined, machine=in_extents) == 5 * 9 + 9
    assert seconds(merged, machine=by_runs) == seconds(merged), "a merge that writes is none"


def test_a_device_that_is_pulled_from_reads_ahead_while_all_else_is_busy_but_not_far() -> None:
    meter = Meter(replace(MACHINE, overlap="at once", read_ahead_seconds=8.0), ["table"])
    assert meter.spend([("table", 3.0), ("disk", 20.0)]) == 20, "17 s to read on, of which 8 are used"
    assert meter.spend([("table", 5.0), ("disk", 1.0)]) == 1, "read before; 4 s ahead are left"
    assert meter.spend([("table", 9.0), ("disk", 1.0)]) == 5
    assert meter.spend([("table", 9.0), ("disk", 1.0)]) == 9
    assert meter.seconds["table"] == 26


def test_without_things_done_at_once_nothing_is_read_ahead() -> None:
    meter = Meter(replace(MACHINE, read_ahead_seconds=8.0), ["table"])
    assert [meter.spend([("table", 3.0), ("disk", 20.0)]) for _ in range(2)] == [23, 23]


def test_policies_are_told_what_the_disk_costs() -> None:
    assert MACHINE.disk.costs.random_seconds == 10
    assert MACHINE.disk.costs.sequential_seconds == 1
