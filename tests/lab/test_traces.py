"""Traces: the paper's keys and shares, codes that land in the right partition, and silences of the full stream."""

import numpy as np
import pytest

from sooner.lab.races.rpj import PANELS, SHARES, draw_trace
from sooner.lab.traces import Arrivals, find_silences, key_codes
from sooner.operators.order import equal_ranges
from sooner.sources.arrival_patterns import Fixed, Pauses


@pytest.mark.parametrize("domain", [20, 100, 997, 10_000])
def test_each_key_has_a_code_of_its_own_in_the_partition_of_its_remainder(domain: int) -> None:
    codes = key_codes(domain, 20)
    assert len(np.unique(codes)) == domain
    partitions = np.searchsorted(equal_ranges(20), codes, side="right")
    assert partitions.tolist() == (np.arange(domain) % 20).tolist()


def test_the_shares_of_the_partitions_are_the_papers() -> None:
    assert SHARES[0] == pytest.approx(0.01)
    assert SHARES[-1] == pytest.approx(0.09)
    assert sum(SHARES) == pytest.approx(1)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_rows_fall_where_the_panel_says(panel) -> None:
    trace = draw_trace(panel, "reliable", scale=10, seed=3)
    left, right = (trace.keys[trace.of_input == side] % 20 for side in (0, 1))
    assert len(left) / len(right) == pytest.approx(panel.speed_ratio, rel=0.05)
    expected_right = SHARES if panel.distribution == "harmony" else SHARES[::-1]
    assert np.bincount(left) / len(left) == pytest.approx(SHARES, abs=0.005)
    assert np.bincount(right) / len(right) == pytest.approx(expected_right, abs=0.005)


def test_only_gaps_longer_than_the_threshold_are_silences() -> None:
    silences = find_silences(np.array([0.0, 0.025, 0.051, 0.052, 0.082]), 0.025)
    assert silences.noticed_seconds == pytest.approx([0.05, 0.077])
    assert silences.over_seconds == pytest.approx([0.051, 0.082])


def test_a_scaled_row_arrives_with_the_last_row_it_stands_for_and_no_silence_is_lost() -> None:
    pattern = Pauses(Fixed(1.0), every_rows=3, seconds=10.0)
    arrivals = Arrivals(pattern, silence_seconds=5.0, left_share=0.5, partition_shares=([1.0], [1.0]))
    full, scaled = arrivals.draw(12, 1, scale=1, seed=0), arrivals.draw(4, 1, scale=3, seed=0)
    assert scaled.seconds.tolist() == full.seconds[2::3].tolist()
    assert len(full.silences) == len(scaled.silences) == 3


def test_the_size_of_the_join_is_that_of_a_nested_loop() -> None:
    trace = draw_trace(PANELS[1], "reliable", scale=250, seed=1)
    left, right = (trace.keys[trace.of_input == side] for side in (0, 1))
    assert trace.join_size() == int((left[:, None] == right[None, :]).sum())
