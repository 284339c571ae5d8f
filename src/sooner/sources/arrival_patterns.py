"""Arrival patterns: how many seconds pass between one row of a source and the next.

The wall-clock replay (`sooner.sources.pacing`) and the simulated lab use the same patterns, so that a run of
either can be repeated in the other: the same pattern and the same seed give the same times.

Not covered: which rows arrive (that is the data's matter), and dependence between two sources.

The papers' settings:

========================  ============================================================================
RPJ sec. 6, reliable      `Fixed(0.001)`
RPJ sec. 6, unreliable    `ZipfGaps()`
DINER sec. 5              `Exponential(0.001)`: lambda = 0.1 has no unit; figure 15 has 100,000 rows in 100 s
DINER sec. 5.3            `Fragments(10_000, 0.001, delay_share=x / 100)`: 100,000 rows in 10 fragments
AGF sec. 7                `ParetoBursts()`: the paper says Pareto and gives no parameters
========================  ============================================================================
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from sooner.errors import InvalidCall

Seconds: TypeAlias = npt.NDArray[np.float64]

# 80 MB of gaps: more than any sensible pattern, less than a surprise.
LONGEST_CYCLE_ROWS = 10_000_000


@runtime_checkable
class ArrivalPattern(Protocol):
    """Draws the gaps between rows.

    `gaps(rows, rng)[i]` is the silence after row `i`; the first row arrives at second 0.

    A pattern starts over every `cycle_rows` rows. So gaps may be drawn in pieces of any multiple of
    `cycle_rows`, one after the other from the same `rng`, and are the same as if drawn at once. This is what
    lets a source of unknown length be paced.
    """

    @property
    def cycle_rows(self) -> int:
        """After so many rows the pattern no longer depends on the rows before."""
        ...

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:
        """Seconds of silence after each of the next `rows` rows."""
        ...


@dataclass(frozen=True)
class Fixed:
    """The same gap after every row (RPJ sec. 6, reliable network: 1 ms)."""

    gap_seconds: float

    cycle_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require_seconds(self, "gap_seconds", self.gap_seconds)

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:  # noqa: ARG002 - nothing is random here
        """Seconds of silence after each of the next `rows` rows."""
        return np.full(rows, self.gap_seconds, dtype=np.float64)


@dataclass(frozen=True)
class Exponential:
    """Independent exponential gaps, a Poisson stream (DINER sec. 5, parameter settings)."""

    mean_seconds: float

    cycle_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require_seconds(self, "mean_seconds", self.mean_seconds)

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:
        """Seconds of silence after each of the next `rows` rows."""
        return rng.exponential(self.mean_seconds, rows)


@dataclass(frozen=True)
class ZipfGaps:
    """Gaps of 1, 2, 3, ... times the shortest, the k-th with probability proportional to `k ** -skew`.

    RPJ sec. 6, unreliable network: between 1 and 30 ms, skewed towards 1 ms. The paper gives neither the skew
    nor the step; we take 1 and 1 ms.
    """

    shortest_seconds: float = 0.001
    longest_seconds: float = 0.030
    skew: float = 1.0

    cycle_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require_positive(self, "shortest_seconds", self.shortest_seconds)
        _require_positive(self, "longest_seconds", self.longest_seconds)
        if self.longest_seconds < self.shortest_seconds:
            raise InvalidCall(
                f"ZipfGaps longest_seconds is {self.longest_seconds}; "
                f"give at least shortest_seconds, {self.shortest_seconds}"
            )
        if not (math.isfinite(self.skew) and self.skew >= 0):
            raise InvalidCall(f"ZipfGaps skew is {self.skew}; give 0 (uniform) or more")

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:
        """Seconds of silence after each of the next `rows` rows."""
        multiples = np.arange(1, self._longest_multiple + 1, dtype=np.float64)
        up_to = np.cumsum(multiples**-self.skew)
        drawn = np.searchsorted(up_to, rng.random(rows) * up_to[-1], side="right")
        # A product that rounds up to the total would point one past the end.
        gaps: Seconds = multiples[np.minimum(drawn, multiples.size - 1)] * self.shortest_seconds
        return gaps

    @property
    def _longest_multiple(self) -> int:
        # 0.030 / 0.001 must give 30 although neither is exact in binary.
        return math.floor(self.longest_seconds / self.shortest_seconds * (1 + 1e-9))


@dataclass(frozen=True)
class ParetoBursts:
    """Bursts of rows with pauses of Pareto length between them (AGF sec. 7: slow and bursty inputs).

    Inside a burst rows come `gap_seconds` apart. Each row ends its burst with probability
    `1 / mean_burst_rows`; the pause after it is longer than t with probability
    `(shortest_pause_seconds / t) ** shape`. The mean pause is `shape / (shape - 1)` times the shortest,
    infinite for a shape of 1 or less. With `mean_burst_rows=1` every gap is a Pareto gap.

    The paper says only that arrivals follow a Pareto distribution; the default parameters are ours.
    """

    gap_seconds: float = 0.0001
    mean_burst_rows: float = 1_000
    shortest_pause_seconds: float = 0.1
    shape: float = 1.5

    cycle_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require_seconds(self, "gap_seconds", self.gap_seconds)
        _require_seconds(self, "shortest_pause_seconds", self.shortest_pause_seconds)
        _require_positive(self, "shape", self.shape)
        if not (math.isfinite(self.mean_burst_rows) and self.mean_burst_rows >= 1):
            raise InvalidCall(f"ParetoBursts mean_burst_rows is {self.mean_burst_rows}; give 1 or more")

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:
        """Seconds of silence after each of the next `rows` rows."""
        # Two draws for every row, needed or not: only so does drawing in pieces give the same gaps.
        draws = rng.random((rows, 2))
        ends_burst = draws[:, 0] < 1 / self.mean_burst_rows
        # Draws lie in [0, 1): turned around they are never 0, which would be an endless pause.
        pauses = self.shortest_pause_seconds * (1 - draws[:, 1]) ** (-1 / self.shape)
        return np.where(ends_burst, pauses, self.gap_seconds)


@dataclass(frozen=True)
class Fragments:
    """Exponential gaps, and after each fragment a delay of `delay_share` of the time that its rows took.

    DINER sec. 5.3: each relation has 100,000 rows in 10 fragments, the delay is x% of the fragment's own
    transmission time (0.5 stands for 50%).
    """

    rows_per_fragment: int
    mean_gap_seconds: float
    delay_share: float

    def __post_init__(self) -> None:
        _require_rows(self, "rows_per_fragment", self.rows_per_fragment)
        _require_seconds(self, "mean_gap_seconds", self.mean_gap_seconds)
        if not (math.isfinite(self.delay_share) and self.delay_share >= 0):
            raise InvalidCall(f"Fragments delay_share is {self.delay_share}; give 0 or more (0.5 is 50%)")

    @property
    def cycle_rows(self) -> int:
        """Each fragment is drawn on its own."""
        return self.rows_per_fragment

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:
        """Seconds of silence after each of the next `rows` rows."""
        gaps = rng.exponential(self.mean_gap_seconds, rows)
        whole_fragments = rows // self.rows_per_fragment
        fragments = gaps[: whole_fragments * self.rows_per_fragment].reshape(-1, self.rows_per_fragment)
        fragments[:, -1] += self.delay_share * fragments.sum(axis=1)
        return gaps


@dataclass(frozen=True)
class Pauses:
    """Another pattern that falls silent for `seconds` more after every `every_rows` rows."""

    inner: ArrivalPattern
    every_rows: int
    seconds: float

    def __post_init__(self) -> None:
        require_pattern("Pauses inner", self.inner)
        _require_rows(self, "every_rows", self.every_rows)
        _require_seconds(self, "seconds", self.seconds)

    @property
    def cycle_rows(self) -> int:
        """Both the pauses and the inner pattern are at their beginning again."""
        return math.lcm(self.inner.cycle_rows, self.every_rows)

    def gaps(self, rows: int, rng: "np.random.Generator") -> Seconds:
        """Seconds of silence after each of the next `rows` rows."""
        gaps = self.inner.gaps(rows, rng).copy()
        gaps[self.every_rows - 1 :: self.every_rows] += self.seconds
        return gaps


class ArrivalSchedule:
    """Hands out the arrival times of a pattern piece by piece, for sources whose length nobody knows."""

    def __init__(self, pattern: ArrivalPattern, seed: int) -> None:
        require_pattern("the arrival pattern", pattern)
        if pattern.cycle_rows > LONGEST_CYCLE_ROWS:
            raise InvalidCall(
                f"{pattern} repeats only after {pattern.cycle_rows:,} rows, whose gaps must be in memory; "
                f"give numbers of rows that divide each other, up to {LONGEST_CYCLE_ROWS:,}"
            )
        self._pattern = pattern
        self._rng = np.random.default_rng(seed)
        self._drawn_gaps: Seconds = np.empty(0, dtype=np.float64)
        self._next_arrival = 0.0

    def next(self, rows: int) -> Seconds:
        """Arrival times of the next `rows` rows, in seconds from the start of the source."""
        self._draw_at_least(rows)
        gaps, self._drawn_gaps = self._drawn_gaps[:rows], self._drawn_gaps[rows:]
        times, self._next_arrival = _times_and_next(self._next_arrival, gaps)
        return times

    def _draw_at_least(self, rows: int) -> None:
        missing = rows - self._drawn_gaps.size
        if missing > 0:
            cycles = -(-missing // self._pattern.cycle_rows)
            fresh = self._pattern.gaps(cycles * self._pattern.cycle_rows, self._rng)
            self._drawn_gaps = np.concatenate((self._drawn_gaps, fresh))


def arrival_times(pattern: ArrivalPattern, rows: int, seed: int) -> Seconds:
    """When each of `rows` rows arrives, in seconds from the start; the first at 0.

    >>> arrival_times(Pauses(Fixed(1.0), every_rows=2, seconds=10.0), rows=5, seed=0).tolist()
    [0.0, 1.0, 12.0, 13.0, 24.0]
    """
    require_pattern("the arrival pattern", pattern)
    times, _ = _times_and_next(0.0, pattern.gaps(rows, np.random.default_rng(seed)))
    return times


def require_pattern(what: str, pattern: object) -> None:
    """Refuse what is not an arrival pattern."""
    if not isinstance(pattern, ArrivalPattern):
        raise InvalidCall(f"{what} is {pattern!r}; give an arrival pattern such as Fixed(0.001)")


def _times_and_next(first_arrival: float, gaps: Seconds) -> tuple[Seconds, float]:
    # The first arrival leads the sum: added in this order, pieces round exactly as the whole would.
    times = np.cumsum(np.concatenate(([first_arrival], gaps)))
    return times[:-1], float(times[-1])


def _require_seconds(pattern: object, parameter: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise InvalidCall(
            f"{type(pattern).__name__} {parameter} is {value}; give a finite number of seconds, 0 or more"
        )


def _require_positive(pattern: object, parameter: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidCall(f"{type(pattern).__name__} {parameter} is {value}; give a finite number above 0")


def _require_rows(pattern: object, parameter: str, value: int) -> None:
    if value < 1:
        raise InvalidCall(f"{type(pattern).__name__} {parameter} is {value}; give 1 or more")
