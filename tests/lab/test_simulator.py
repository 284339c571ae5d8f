"""The simulator: everything comes out, the same seed gives the same history, and time passes as it should."""

import dataclasses

import numpy as np
import pytest

from small_worlds import memory_rows, run_small, small_history, small_laboratory, small_trace
from sooner.lab.device import Device
from sooner.lab.experiments.rpj import COMPETITORS, PANELS, PARTITIONS
from sooner.lab.simulator import ROW_BYTES, Laboratory, simulate
from sooner.lab.traces import Silences, Trace
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.policies.flush.never import Never as FlushNever
from sooner.policies.react.never import Never
from sooner.policies.view import DeviceCosts

SPILLING = [name for name in ALGORITHMS if name != "symmetric_hash"]


@pytest.mark.parametrize("name", SPILLING)
def test_all_results_come_out_and_no_more(name: str) -> None:
    trace = small_trace(PANELS[1], "reliable", seed=5)
    assert run_small(name, trace, "reliable").total_results == trace.join_size()


@pytest.mark.parametrize("name", ["rpj", "hmj", "xjoin", "rpj_dd"])
def test_all_results_come_out_although_silences_are_used(name: str) -> None:
    trace = small_trace(PANELS[0], "unreliable", seed=2)
    history = run_small(name, trace, "unreliable")
    assert history.total_results == trace.join_size()
    assert history.events["Scanned"] + history.events["Merged"] > PARTITIONS  # more than the clean-up


def test_the_same_seed_gives_the_same_history_and_another_seed_another() -> None:
    first, again, other = (
        run_small("hmj", small_trace(PANELS[0], "unreliable", seed), "unreliable") for seed in (1, 1, 2)
    )
    assert first.moments == again.moments
    assert first.sampled(first.end_seconds) == again.sampled(again.end_seconds)
    assert first.moments != other.moments


def test_results_cost_and_time_never_go_back() -> None:
    moments = small_history("rpj", PANELS[0], "unreliable").moments
    for column in ("seconds", "results", "cost_seconds"):
        values = np.array([getattr(moment, column) for moment in moments])
        assert (np.diff(values) >= 0).all()


def test_no_disk_work_is_done_while_rows_keep_coming() -> None:
    events = small_history("rpj", PANELS[0], "reliable").events
    assert events["Scanned"] == 0
    assert events["Merged"] == PARTITIONS  # the clean-up, one by one


def test_samples_are_taken_on_an_even_grid_from_the_first_second_to_the_last() -> None:
    history = small_history("hmj", PANELS[0], "unreliable")
    samples = history.sampled(history.end_seconds, samples=50)
    assert {len(column) for column in samples.values()} == {50}
    assert samples["seconds"][0] == 0
    assert samples["results"][0] == 0
    assert samples["phase"][0] == "arriving"
    assert samples["results"][-1] == history.total_results
    assert samples["phase"][-1] == "done"


# Time, by hand: the left side has keys 0, 0, the right side 0; a comparison takes 50 s, of which a fifth counts


def three_rows(seconds: list[float], silences: list[tuple[float, float]] | None = None) -> Trace:
    noticed, over = zip(*silences, strict=True) if silences else ((), ())
    return Trace(
        np.array(seconds),
        np.array([0, 0, 1], np.int8),
        np.array([0, 0, 0], np.int32),
        Silences(np.array(noticed, float), np.array(over, float)),
        domain=1,
        partitions=1,
    )


SLOW = Laboratory(Device(DeviceCosts(), memory_bytes=100 * ROW_BYTES, comparison_seconds=50.0), chunk_rows=1)
IN_MEMORY = Algorithm("in memory", FlushNever(), Never())


def test_work_begins_with_the_arrival_and_takes_what_the_device_says() -> None:
    history = simulate(three_rows([0.0, 1.0, 100.0]), IN_MEMORY, SLOW)
    assert history.results_at(100.0) == 0
    assert history.results_at(110.0) == 1  # half of 2 comparisons' 20 s: one of 2 results
    assert history.end_seconds == 120.0
    assert history.last_arrival_seconds == 100.0


def test_rows_that_arrive_while_the_join_is_busy_wait_in_the_buffer() -> None:
    trace = Trace(
        np.array([0.0, 1.0, 2.0, 3.0]),
        np.array([0, 1, 1, 1], np.int8),
        np.zeros(4, np.int32),
        Silences(np.empty(0), np.empty(0)),
        domain=1,
        partitions=1,
    )
    history = simulate(trace, IN_MEMORY, SLOW)
    assert history.most_buffered_rows == 2  # two came during the 10 s of the first comparison
    assert history.end_seconds == 1.0 + 3 * 10.0


def test_a_chunk_stops_at_a_silence_that_is_still_to_come() -> None:
    one_chunk = dataclasses.replace(SLOW, chunk_rows=3)
    without = simulate(three_rows([0.0, 1.0, 2.0]), IN_MEMORY, one_chunk)
    with_silence = simulate(three_rows([0.0, 1.0, 2.0], [(1.5, 2.0)]), IN_MEMORY, one_chunk)
    assert without.events["Arrived"] == 1
    assert with_silence.events["Arrived"] == 2


def test_the_last_task_of_a_silence_may_outlast_it_and_rows_wait() -> None:
    trace, laboratory = small_trace(PANELS[0], "unreliable"), small_laboratory("unreliable")
    flush = COMPETITORS["rpj_dd"].flush
    busy = simulate(trace, COMPETITORS["rpj_dd"], laboratory)
    idle = simulate(trace, Algorithm("idle", flush, Never()), laboratory)
    assert busy.most_buffered_rows > idle.most_buffered_rows


def test_a_chunk_changes_early_results_by_little() -> None:
    trace, laboratory = small_trace(PANELS[0], "reliable"), small_laboratory("reliable")
    fine, coarse = (
        simulate(trace, ALGORITHMS["rpj"], dataclasses.replace(laboratory, chunk_rows=rows))
        for rows in (laboratory.chunk_rows // 4, laboratory.chunk_rows)
    )
    assert coarse.early_results == pytest.approx(fine.early_results, rel=0.03)


def test_rows_stay_in_memory_until_it_is_full() -> None:
    trace, laboratory = small_trace(PANELS[0], "reliable"), small_laboratory("reliable")
    full_at = float(trace.seconds[memory_rows("reliable") - 1])
    roomy = dataclasses.replace(laboratory, device=dataclasses.replace(laboratory.device, memory_bytes=2**30))
    without_flush = simulate(trace, IN_MEMORY, roomy)
    with_flush = small_history("rpj", PANELS[0], "reliable")
    assert with_flush.results_at(full_at) == without_flush.results_at(full_at)
    assert with_flush.early_results < without_flush.early_results
