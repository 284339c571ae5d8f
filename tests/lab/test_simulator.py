"""The simulator: everything comes out, the same seed gives the same history, and time passes as it should."""

import dataclasses

import numpy as np
import pytest

from small_worlds import competitor, memory_rows, run_small, small_history, small_laboratory, small_trace
from sooner.lab.counted_join import CountedJoin
from sooner.lab.counted_state import CountedState
from sooner.lab.history import History
from sooner.lab.races.rpj import COMPETITORS, PANELS, PARTITIONS
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, simulate, simulate_subject
from sooner.lab.subject import ROW_BYTES
from sooner.lab.traces import Silences, Trace
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.operator import Means
from sooner.policies.flush.never import Never as FlushNever
from sooner.policies.react.never import Never

SPILLING = [name for name in ALGORITHMS if name != "symmetric_hash"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SPILLING)
def test_all_results_come_out_and_no_more(name: str) -> None:
    trace = small_trace(PANELS[1], "reliable", seed=5)
    assert run_small(name, trace, "reliable").total_results == trace.join_size()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name in SPILLING if ALGORITHMS[name].waits == "never"])
def test_without_silences_what_is_open_in_the_end_is_the_rest(name: str) -> None:
    """The lab knows then how many results there are; counted cell by cell they are as many, at the same times."""
    trace, laboratory = small_trace(PANELS[1], "reliable", seed=5), small_laboratory("reliable")

    def by_cells(trace: Trace, means: Means) -> CountedJoin:
        algorithm = competitor(name, trace, "reliable")
        state = CountedState(trace.domain, trace.partitions, ROW_BYTES, algorithm, means)
        return CountedJoin(state, tells_reached=False)

    exact, known = simulate_subject(trace, by_cells, laboratory), run_small(name, trace, "reliable")
    assert exact.total_results == trace.join_size()
    assert known.events == exact.events
    for column, values in exact.columns.items():
        assert np.array_equal(known.columns[column], values), column


@pytest.mark.one_in(2)
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
    assert first.sampled(first.end_seconds) == again.sampled(again.end_seconds)
    assert first.thinned().sampled(first.end_seconds) == again.thinned().sampled(again.end_seconds)
    assert first.sampled(first.end_seconds) != other.sampled(other.end_seconds)


def test_results_cost_and_time_never_go_back() -> None:
    columns = small_history("rpj", PANELS[0], "unreliable").columns
    for column in ("seconds", "results", "cost_seconds", "disk_seconds", "processor_seconds"):
        assert (np.diff(columns[column]) >= 0).all()


def test_memory_is_never_more_than_there_is_and_cost_is_that_of_all_resources() -> None:
    columns = small_history("rpj", PANELS[0], "unreliable").columns
    assert columns["memory_bytes"].max() <= memory_rows("unreliable") * ROW_BYTES
    assert columns["cost_seconds"] == pytest.approx(columns["disk_seconds"] + columns["processor_seconds"])


def test_a_thinned_history_says_the_same_at_every_tenth_and_in_the_end() -> None:
    whole = small_history("hmj", PANELS[0], "unreliable")
    thin = whole.thinned()
    assert len(thin.columns["seconds"]) < len(whole.columns["seconds"])
    for tenth in range(1, 11):
        at = tenth / 10 * whole.last_arrival_seconds
        assert thin.results_at(at) == pytest.approx(whole.results_at(at), rel=1e-9)
        assert thin.cost_per_result_at(at) == pytest.approx(whole.cost_per_result_at(at), rel=1e-9)
    for total in ("total_results", "early_results", "end_seconds", "most_buffered_rows", "clean_up_seconds"):
        assert getattr(thin, total) == getattr(whole, total)


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


DISK = Disk.with_accesses(64 * 1024, 100e-6, 30e-6)
SLOW = Laboratory(Machine(DISK, memory_bytes=100 * ROW_BYTES, comparison_seconds=50.0), chunk_rows=1)
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
    roomy = dataclasses.replace(laboratory, machine=dataclasses.replace(laboratory.machine, memory_bytes=2**30))
    without_flush = simulate(trace, IN_MEMORY, roomy)
    with_flush = small_history("rpj", PANELS[0], "reliable")
    assert with_flush.results_at(full_at) == without_flush.results_at(full_at)
    assert with_flush.early_results < without_flush.early_results


# What becomes of a task when a row comes


def histories_by_task(name: str) -> dict[str, History]:
    trace, laboratory = small_trace(PANELS[0], "unreliable"), small_laboratory("unreliable")
    kinds = ("finishes", "gives way", "is abandoned")
    return {kind: simulate(trace, COMPETITORS[name], dataclasses.replace(laboratory, a_task=kind)) for kind in kinds}


def test_a_task_that_gives_way_keeps_rows_waiting_for_a_block_and_no_longer() -> None:
    histories = histories_by_task("rpj_dd")
    assert histories["gives way"].most_buffered_rows < histories["finishes"].most_buffered_rows
    block_rows = 1  # scaled rows come 20 ms apart, and a block takes 10 ms
    idle = simulate(
        small_trace(PANELS[0], "unreliable"),
        Algorithm("idle", COMPETITORS["rpj_dd"].flush, Never()),
        small_laboratory("unreliable"),
    )
    assert histories["gives way"].most_buffered_rows <= idle.most_buffered_rows + block_rows


@pytest.mark.parametrize("name", ["rpj", "hmj"])
def test_however_tasks_end_the_answer_is_the_same_and_less_time_gives_fewer_early_results(name: str) -> None:
    histories = histories_by_task(name)
    assert len({history.total_results for history in histories.values()}) == 1
    early = {kind: history.early_results for kind, history in histories.items()}
    assert early["is abandoned"] <= early["gives way"] <= early["finishes"]
    for history in histories.values():
        assert (np.diff(history.columns["results"]) >= 0).all()


def test_an_abandoned_task_costs_its_silence_and_does_nothing() -> None:
    histories = histories_by_task("hmj")
    assert histories["is abandoned"].events["Merged"] < histories["finishes"].events["Merged"]
    abandoned = histories["is abandoned"]
    silences = small_trace(PANELS[0], "unreliable").silences
    in_silences = float((silences.over_seconds - silences.noticed_seconds).sum())
    before_clean_up = abandoned.at(abandoned.last_arrival_seconds, "disk_seconds")
    flushes = simulate(
        small_trace(PANELS[0], "unreliable"),
        Algorithm("idle", COMPETITORS["hmj"].flush, Never(), flushes="what is needed"),
        small_laboratory("unreliable"),
    )
    idle = flushes.at(flushes.last_arrival_seconds, "disk_seconds")
    assert idle < before_clean_up <= idle + in_silences + 0.01


# Buffers


def test_a_bounded_buffer_takes_its_part_of_the_memory_and_its_overflow_is_told() -> None:
    trace, laboratory = small_trace(PANELS[0], "unreliable"), small_laboratory("unreliable")
    free = simulate(trace, COMPETITORS["rpj_dd"], laboratory)
    assert free.overflowed_at_seconds is None
    for rows, overflows in ((2, True), (50, False)):
        machine = dataclasses.replace(laboratory.machine, buffer_bytes=rows * ROW_BYTES)
        history = simulate(trace, COMPETITORS["rpj_dd"], dataclasses.replace(laboratory, machine=machine))
        assert (history.overflowed_at_seconds is not None) == overflows == (history.most_buffered_rows > rows)
        assert history.columns["memory_bytes"].max() <= machine.memory_bytes - machine.buffer_bytes
        assert history.total_results == free.total_results
