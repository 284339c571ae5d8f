"""The simulated device, by hand: pages of 100 bytes, 10 s a seek, 1 s a page in sequence, memory for 1,000 bytes."""

import pytest

from sooner.lab.device import Device, Meter
from sooner.operators.events import Arrived, Entered, Event, Flushed, Merged, Scanned
from sooner.phases import Phase
from sooner.policies.view import DeviceCosts

DEVICE = Device(DeviceCosts(100, 10.0, 1.0), memory_bytes=1000, comparison_seconds=0.5)
ONE_FILE = Device(DeviceCosts(100, 10.0, 1.0), 1000, 0.5, flushed_to="a file for each side")


def seconds(*events: Event, device: Device = DEVICE, phase: Phase = "arriving") -> float:
    meter = Meter(device)
    for event in events:
        meter.add(event, phase)
    return meter.seconds


def test_an_arriving_row_is_compared_with_a_fifth_of_its_partition() -> None:
    assert seconds(Arrived(1, (3, 4), compared=200)) == pytest.approx(200 / 5 * 0.5)


def test_a_flushed_partition_costs_a_seek_and_the_rest_of_its_pages_in_sequence() -> None:
    assert seconds(Flushed(1, 0, 0, n_rows=35, n_bytes=350)) == 10 + 3


def test_partitions_flushed_together_each_cost_a_seek_or_with_one_file_a_side_only_the_first_does() -> None:
    together = [Flushed(7, side, partition, 20, 200) for partition in (3, 4, 5) for side in (0, 1)]
    later = Flushed(9, 0, 3, 20, 200)
    assert seconds(*together, later) == 7 * (10 + 1)
    assert seconds(*together, later, device=ONE_FILE) == 3 * (10 + 1) + 4 * 2


def test_a_scan_costs_a_seek_for_each_run() -> None:
    assert seconds(Scanned(1, 0, 0, n_runs=4, n_bytes=1050), phase="reactive") == 4 * 10 + 7


def test_a_merge_costs_a_seek_for_each_page_read_and_for_each_page_written() -> None:
    assert seconds(Merged(1, 0, n_runs=6, n_bytes=600, written_bytes=550), phase="reactive") == 12 * 10


def test_a_merge_that_need_not_write_still_reads_page_by_page() -> None:
    assert seconds(Merged(1, 0, n_runs=2, n_bytes=600, written_bytes=0), phase="reactive") == 6 * 10


def test_the_clean_up_reads_run_after_run_as_often_as_the_memory_must_be_filled() -> None:
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=900, written_bytes=0), phase="clean-up") == 3 * 10 + 6
    assert seconds(Merged(1, 0, n_runs=3, n_bytes=1900, written_bytes=0), phase="clean-up") == 6 * 10 + 13


def test_a_clean_up_of_nothing_and_a_change_of_phase_are_free() -> None:
    assert seconds(Merged(1, 0, 0, 0, 0), Entered(1, "done"), phase="clean-up") == 0
