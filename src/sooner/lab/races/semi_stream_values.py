"""The join values of SSBJ's data sets (sec. 4.1): how likely each is in the stream, and how many master rows have it.

Frequent values are taken one by one. Of the many others, those whose chances differ by at most a hundredth and which
have as many master rows are a *group*: all that is kept of it is how many there are. This loses nothing but that
hundredth. Stream rows are drawn independently, so how often each value comes in a cycle is Poisson, and independent of
the others and of what came before. What happens to a value depends on its own count and its master rows alone. So of
the values of a group, the number that something happens to is binomial, and can be drawn at once.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sooner.policies.view import Counts, Numbers

DataSet = Literal["synthetic", "tpc-h", "tpc-h, skewed", "weather"]

ONE_BY_ONE: Final = 20_000  # the most frequent values
GROUP_GROWTH: Final = 1.01
MOST_MASTERS: Final = 20  # of a value with one on average: of 10^18 values none has more
LONGITUDES: Final = 36_000
STATIONS: Final = 7_000
LAND_SHARE: Final = 0.9
GONE_SHARE: Final = 0.03  # of the stations, which report in some of the months only
CONTINENTS: Final = (  # share of the stations, mean and deviation of their longitudes, in degrees to the east
    (0.30, 15, 15),  # Europe
    (0.25, 95, 30),  # Asia
    (0.20, 265, 18),  # North America
    (0.10, 20, 14),  # Africa
    (0.09, 300, 10),  # South America
    (0.06, 140, 14),  # Australia
)
OCEANS: Final = ((0.45, 320, 18), (0.35, 190, 35), (0.20, 75, 20))  # of ships


@dataclass(frozen=True, eq=False)
class JoinValues:
    chances: Numbers  # [group]: of each of its values to be that of the next stream row
    masters: Counts  # [group]: rows of R with each of its values
    values: Counts  # [group]: how many there are


def join_values(data: DataSet, master_rows: int, skew: float, rng: np.random.Generator) -> JoinValues:
    match data:
        case "synthetic":
            return _with_repetition(master_rows, skew, rng)
        case "tpc-h" | "tpc-h, skewed":
            return _customers(master_rows, skew if data == "tpc-h, skewed" else 0.0)
    return _weather(master_rows, rng)


def zipf(n_values: int, skew: float) -> tuple[Numbers, Counts]:
    """Chances of the values of each rank or range of ranks, and how many values that are: the rarest last."""
    alone = min(ONE_BY_ONE, n_values)
    ends = [alone]
    while ends[-1] < n_values:
        ends.append(min(n_values, int(ends[-1] * GROUP_GROWTH) + 1))
    edges = np.array(ends, np.float64) + 0.5
    masses = np.diff(np.log(edges)) if skew == 1 else np.diff(edges ** (1 - skew)) / (1 - skew)
    sizes = np.concatenate((np.ones(alone, np.int64), np.diff(ends)))
    weights = np.concatenate((np.arange(1.0, alone + 1) ** -skew, masses / sizes[alone:]))
    return weights / (weights * sizes).sum(), sizes


def _with_repetition(master_rows: int, skew: float, rng: np.random.Generator) -> JoinValues:
    """Master rows have any of as many values as there are rows, at random: some values have several, and some none."""
    chances, sizes = zipf(master_rows, skew)
    poisson = np.cumprod(np.append(np.exp(-1.0), 1 / np.arange(1, MOST_MASTERS)))
    by_masters = rng.multinomial(sizes, poisson / poisson.sum())
    group, masters = np.nonzero(by_masters)
    return JoinValues(chances[group], masters, by_masters[group, masters])


def _customers(master_rows: int, skew: float) -> JoinValues:
    """TPC-H: a third of the customers have no orders; those of the others are at random, all alike unless skewed."""
    with_orders = 2 * master_rows // 3
    chances, sizes = zipf(with_orders, skew)
    return JoinValues(chances, np.ones(len(sizes), np.int64), sizes)


def _weather(master_rows: int, rng: np.random.Generator) -> JoinValues:
    """A twin of reports of clouds, joined on longitude in hundredths of a degree.

    Stations do not move. Most report at all times, each at its own rate, and few in April and August or in December
    alone. Ships do, and tell where they are to a tenth of a degree.
    """
    of_station = rng.choice([1.0, 2.0, 4.0, 8.0], STATIONS) * rng.gamma(4.0, 0.25, STATIONS)  # reports a day
    longitudes = _drawn(CONTINENTS, STATIONS, rng)
    reports = of_station * np.exp(rng.normal(0.0, 0.1, (2, STATIONS)))
    reports[rng.random((2, STATIONS)) < GONE_SHARE] = 0.0
    ships = [np.bincount(_drawn(OCEANS, 200_000, rng) // 10 * 10, minlength=LONGITUDES) for _ in range(2)]
    in_master, in_stream = (
        LAND_SHARE * np.bincount(longitudes, some, LONGITUDES) / some.sum() + (1 - LAND_SHARE) * sea / sea.sum()
        for some, sea in zip(reports, ships, strict=True)
    )
    masters = rng.multinomial(master_rows, in_master / in_master.sum())
    return JoinValues(in_stream / in_stream.sum(), masters, np.ones(LONGITUDES, np.int64))


def _drawn(places: tuple[tuple[float, float, float], ...], n: int, rng: np.random.Generator) -> Counts:
    shares, means, deviations = np.array(places).T
    place = rng.choice(len(shares), n, p=shares)
    degrees: Counts = (rng.normal(means[place], deviations[place]) * 100).astype(np.int64) % LONGITUDES
    return degrees
