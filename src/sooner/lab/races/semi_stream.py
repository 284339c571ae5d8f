"""What races in the experiments of SSBJ (sec. 4): MESHJOIN and SSBJ over a stream of endless rows, cycle by cycle.

Given in the paper: 20 to 100 million master rows of 120 bytes, stream rows of 20, pointers of 4 in the queue, memory of
1% to 10% of R, Zipf from 0 to 1. TPC-H: 15 million customers of 223 bytes, orders of 138. Weather: 20 million master
rows, 128 bytes on both sides.

Not given, and chosen here, the same for both rivals: a disk as in the other races, with 10 ms for a seek and 50 MB/s,
by which MESHJOIN does some 18,000 rows a second with 1% of R and 180,000 with 10%, so that the 51,242 of figure 4(b)
are among them; 100 ns for each of c_H, c_O, c_B, c_E, c_S and c_A; a fudge factor of 1; as many join values as R has
rows. The disk buffer is that with which MESHJOIN is fastest by the model (`best_buffer_bytes`); or 1 MB where memory is
what is measured, which is too little to matter.

**What is simulated.** Time goes by R-cycles, each of R_t / b iterations that are alike. Chunks of stream rows leave
when they have waited for one cycle, so at the end of a cycle those rows wait that missed the cache in it. Cycles count,
switch and phase out in turn (Algorithm 1, lines 5 to 7). In a switching cycle each join value is held against the cache
inequality, with the rows of it that wait and its master rows, if they have been counted: the value waited when the
counting cycle began. When the phase-out begins, the chosen values move into the cache and chunks are adapted to the
memory that is left (lines 10 and 11). After each tenth cycle values leave the cache by their hits; hits are divided by
ten although a value may have been there for less (line 45).

At full load there are always stream rows to read: an iteration reads on until w_S of them have missed the cache. With
an arrival rate it reads what has come while the last one was busy, or less where memory is full.

**Values without master rows.** The text has them in the cache, with no row (sec. 3.1); Algorithm 1 never gets to them,
since no master row carries such a value. Here they are known when their rows have waited a cycle for nothing, and move
at the next phase-out. Each takes 8 bytes, for its key; the paper calls such things negligible, but a third of all
values are of this kind. `empty_bytes=None` is the algorithm to the letter.

**Slips.** Lines 42 to 51 would run in each iteration of a tenth cycle, with counts that were reset in the one before,
and empty the cache; they run once here. Line 33 is asked for each master row, with waiting rows that change, and would
take some rows of a value and leave others; here a value is asked once. A value that came after the counting cycle has a
count of 0, with which it would always move; here it has to wait for the next one.

Scale. A smaller experiment divides master rows, join values and memory.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from sooner.errors import InvalidCall
from sooner.kernels.array_types import Flags
from sooner.lab.history import History
from sooner.lab.races.semi_stream_model import Costs, Sizes, best_buffer_bytes
from sooner.lab.races.semi_stream_values import DataSet, JoinValues, join_values
from sooner.phases import Phase
from sooner.policies.cache import belongs_in_cache, leaves_cache
from sooner.policies.view import Counts, Numbers

SemiStreamAlgorithm = Literal["ssbj", "meshjoin"]

ROWS: Final = 100_000_000  # of R
ROW_BYTES: Final[Mapping[DataSet, tuple[float, float]]] = {  # v_R and v_S
    "synthetic": (120, 20),
    "tpc-h": (223, 138),
    "tpc-h, skewed": (223, 138),
    "weather": (128, 128),
}
POINTER_BYTES: Final = 4
EMPTY_BYTES: Final = 8
SMALL_BUFFER_BYTES: Final = 2**20
STEP_SECONDS: Final = 100e-9
SEEK_SECONDS: Final = 0.010
BYTE_SECONDS: Final = 1 / 50e6
WARM_CYCLES: Final = 30  # before anything is measured
MEASURED_CYCLES: Final = 30  # in which states and evictions come round once
EVICTION_CYCLES: Final = 10
ARRIVING: Final[Phase] = "arriving"
LEAST_MISSES: Final = 1e-4  # of the stream: whatever the cache answers, a chunk is full some day
TINY: Final = 1e-300
LEAST_ROWS: Final = 20_000  # of R: with fewer, all values are taken one by one anyway
SETTING: Final = (
    "a seek of 10 ms for each disk buffer and 50 MB/s, 100 ns for each row that is read, looked up, put out, appended, "
    "removed or cached, 8 bytes for a value in the cache that no master row has"
)

NO_CACHE: Final = "nothing moves into the cache"
REVERSED: Final = "cache inequality reversed"
NEVER_EVICTS: Final = "nothing leaves the cache"
STAYS: Final = "chunks stay for two cycles"
SLOW_DISK: Final = "disk half as fast"
IGNORES_FACTOR: Final = "the switching factor is ignored"
NO_SEEKS: Final = "seeks cost nothing"
HAS_CACHE: Final = "it has SSBJ's cache"


def costs_of(step_seconds: float) -> Costs:
    """With so much for whatever is done to a row in memory."""
    return Costs(SEEK_SECONDS, BYTE_SECONDS, *[step_seconds] * 6)


COSTS: Final = costs_of(STEP_SECONDS)
Rule = Callable[[Counts, Numbers], Flags]  # of values with so many master rows and so many stream rows a cycle


class Placement(NamedTuple):
    """Which values move into the cache, and which leave it."""

    moves: Rule
    leaves: Rule


def placement(sizes: Sizes, switching_factor: float, mutant: str = "") -> Placement:
    v_r, v_s = sizes.master_bytes, sizes.stream_bytes
    factor = 1.0 if mutant == IGNORES_FACTOR else switching_factor

    def moves(masters: Counts, rows: Numbers) -> Flags:
        return belongs_in_cache(masters, rows, v_r, v_s, factor)

    def leaves(masters: Counts, rows: Numbers) -> Flags:
        return leaves_cache(masters, rows, v_r, v_s, factor)

    match mutant:
        case "nothing moves into the cache":
            return Placement(_never, leaves)
        case "nothing leaves the cache":
            return Placement(moves, _never)
        case "cache inequality reversed":
            return Placement(lambda masters, rows: ~moves(masters, rows), lambda masters, rows: ~leaves(masters, rows))
    return Placement(moves, leaves)


def _never(masters: Counts, rows: Numbers) -> Flags:  # noqa: ARG001 - a rule
    return np.zeros(len(masters), np.bool_)


class Load(NamedTuple):
    """What the join has to do with: memory, or rows that arrive, or both."""

    memory_bytes: float | None
    arrival_rate: float | None  # stream rows a second; None: there are always some


@dataclass(eq=False)
class Cohort:
    """Values that moved into the cache together, and the stream rows since then, or since the last eviction."""

    values: Counts  # [group]
    stream_rows: float


class Cycle(NamedTuple):
    """What one R-cycle came to."""

    seconds: float
    disk_seconds: float
    stream_rows: int
    answered_rows: int  # of them, by the cache
    results: float
    memory_bytes: float  # at its end
    cached_rows: int
    cached_values: int
    empty_values: int  # of them


class CountedSemiStream:
    """Both algorithms, counted: of each group of join values, how many are on disk and how many in the cache."""

    def __init__(
        self,
        values: JoinValues,
        sizes: Sizes,
        costs: Costs,
        load: Load,
        cache: Placement | None,  # None: MESHJOIN
        rng: np.random.Generator,
        empty_bytes: int | None = EMPTY_BYTES,
        cycles_waited: int = 1,
    ) -> None:
        self._values = values
        self._sizes = sizes
        self._costs = costs
        self._load = load
        self._cache = cache
        self._rng = rng
        self._empty_bytes = empty_bytes
        self._on_disk = values.values.copy()
        self._cached: list[Cohort] = []
        self._switching = np.zeros_like(values.values)  # through the switching buffer
        self._left, self._left_after = np.zeros_like(values.values), 0  # the cache, after which cycle
        self._before: deque[int] = deque([0, 0], maxlen=2)  # stream rows of the last two cycles
        self._waiting: deque[int] = deque([0] * cycles_waited, maxlen=cycles_waited)  # rows that missed, by cycle
        self._cycle = 0
        self._missing_rows = self._room()

    def run_cycle(self) -> Cycle:
        self._cycle += 1
        moved_rows = 0
        if self._cycle % 3 == 0:
            moved_rows = self._phase_out()
        misses = float((self._values.chances * self._on_disk).sum())
        answered, missed, seconds, disk_seconds = self._read(misses, moved_rows)
        results = answered * self._matches(self._in_cache) + missed * self._matches(self._on_disk)
        self._waiting.append(missed)
        for cohort in self._cached:
            cohort.stream_rows += answered + missed
        if self._cache is not None and self._cycle % 3 == 2:
            self._switching = self._chosen(self._cache.moves)
        self._before.append(answered + missed)
        told = Cycle(
            seconds,
            disk_seconds,
            answered + missed,
            answered,
            results,
            self._memory_bytes(),
            int(self._in_cache @ self._values.masters),
            int(self._in_cache.sum()),
            int(self._in_cache[self._values.masters == 0].sum()),
        )
        if self._cache is not None and self._cycle % EVICTION_CYCLES == 0:
            self._evict(self._cache.leaves)
        return told

    @property
    def _in_cache(self) -> Counts:
        in_cache: Counts = self._values.values - self._on_disk
        return in_cache

    def _read(self, misses: float, moved_rows: int) -> tuple[int, int, float, float]:
        """Stream rows that the cache answers, others, and how long the cycle takes, in all and of the disk."""
        sizes, costs = self._sizes, self._costs
        disk_seconds = sizes.steps * costs.buffer_seconds(sizes)
        idle = disk_seconds + sizes.master_rows * costs.look_up + moved_rows * costs.switch
        look_up = 0.0 if self._cache is None else costs.look_up
        everything = self._matches(self._values.values)
        row = costs.read + look_up + misses * (costs.append + costs.remove) + everything * costs.output
        rows, missed = self._rows_by_rate(idle, row), self._missing_rows
        if rows is not None and (missed is None or rows * misses < missed):
            missed = int(self._rng.binomial(rows, min(misses, 1.0)))
            answered = rows - missed
        else:
            assert missed is not None, "without memory or an arrival rate nothing ends a chunk"
            answered = int(self._rng.negative_binomial(missed, min(max(misses, LEAST_MISSES), 1.0)))
        return answered, missed, idle + (answered + missed) * row, disk_seconds

    def _rows_by_rate(self, idle_seconds: float, row_seconds: float) -> int | None:
        """Those that come while the cycle lasts, which takes longer the more there are."""
        rate = self._load.arrival_rate
        if rate is None or rate * row_seconds >= 1:
            return None
        return int(rate * idle_seconds / (1 - rate * row_seconds))

    def _matches(self, counts: Counts) -> float:
        """Master rows that a stream row finds on average, if it has one of so many values of each group."""
        likely = self._values.chances * counts
        total = likely.sum()
        return float((likely * self._values.masters).sum() / total) if total else 0.0

    def _phase_out(self) -> int:
        """Values move from the switching buffer into the cache, and the memory that is left is shared out anew."""
        self._on_disk -= self._switching
        self._cached.append(Cohort(self._switching, 0.0))
        moved_rows = int(self._switching @ self._values.masters)
        self._switching = np.zeros_like(self._switching)
        self._missing_rows = self._room()
        return moved_rows

    def _chosen(self, moves: Rule) -> Counts:
        """Of each group, the values for which the inequality speaks, and whose master rows have been counted.

        A value that was in the cache in the last cycle has no rows that wait; if it was there in the one before, it did
        not wait when its master rows were counted.
        """
        values, earlier, last = self._values, *self._before
        since = self._cycle - self._left_after
        is_late = since < np.where(values.masters > 0, 3, 2)
        chosen = self._drawn(self._on_disk - np.where(is_late, self._left, 0), values.chances * last, moves)
        counted = self._rng.binomial(chosen, -np.expm1(-values.chances * earlier))
        empty = 0 if self._empty_bytes is None else chosen
        return np.where(values.masters > 0, counted, empty)

    def _evict(self, leaves: Rule) -> None:
        def by_hits(masters: Counts, hits: Numbers) -> Flags:
            return leaves(masters, hits / EVICTION_CYCLES)

        rates = [self._values.chances * cohort.stream_rows for cohort in self._cached]
        left = [self._drawn(one.values, rate, by_hits) for one, rate in zip(self._cached, rates, strict=True)]
        self._left, self._left_after = np.sum(left, axis=0), self._cycle
        self._on_disk += self._left
        self._cached = [Cohort(self._in_cache, 0.0)]

    def _drawn(self, counts: Counts, rates: Numbers, rule: Rule) -> Counts:
        """Of so many values in each group, for how many the rule speaks, when each has come at this rate."""
        alone = self._values.values == 1
        masters, drawn = self._values.masters, np.zeros_like(counts)
        came = self._rng.poisson(rates[alone])
        drawn[alone] = counts[alone] * rule(masters[alone], came.astype(np.float64))
        in_groups = ~alone & (counts > 0)
        chances = chance_of(rule, masters[in_groups], rates[in_groups])
        drawn[in_groups] = self._rng.binomial(counts[in_groups], chances)
        return drawn

    def _room(self) -> int | None:
        """For rows that miss the cache in a cycle."""
        if self._load.memory_bytes is None:
            return None
        left = self._load.memory_bytes - self._sizes.buffer_bytes - self._cache_bytes()
        return max(1, int(left / self._sizes.waiting_bytes / len(self._waiting)))

    def _cache_bytes(self) -> float:
        rows, empty = self._in_cache @ self._values.masters, self._in_cache[self._values.masters == 0].sum()
        return float(rows * self._sizes.cached_bytes + empty * (self._empty_bytes or 0))

    def _memory_bytes(self) -> float:
        waiting = sum(self._waiting) * self._sizes.waiting_bytes
        return self._sizes.buffer_bytes + self._cache_bytes() + waiting


def chance_of(rule: Rule, masters: Counts, rates: Numbers) -> Numbers:
    """That the rule speaks for a value with so many master rows that comes at this rate: by Poisson."""
    chances = np.empty(len(masters))
    for n_masters in np.unique(masters):
        some = masters == n_masters
        finally_so, below = _turn_of(rule, n_masters)
        fewer = _chance_of_fewer(below, rates[some])
        chances[some] = 1 - fewer if finally_so else fewer
    return chances


def _turn_of(rule: Rule, masters: int) -> tuple[bool, int]:
    """What the rule says when many rows have come, and below how many it says the opposite; it turns once at most."""
    [finally_so] = rule(np.array([masters]), np.array([np.inf]))
    asked = 64
    while (says := rule(np.full(asked, masters), np.arange(asked, dtype=np.float64)))[-1] != finally_so:
        asked *= 2
    return bool(finally_so), int(np.count_nonzero(says != finally_so))


def _chance_of_fewer(rows: int, rates: Numbers) -> Numbers:
    """Than so many, at each rate; where the rate is ten deviations above, that there are none."""
    chances = np.zeros(len(rates))
    near = rates < rows + 10 * np.sqrt(rows) + 40
    counts = np.arange(rows)
    log_factorials = np.append(0.0, np.log(counts[1:])).cumsum()
    logs = np.log(np.maximum(rates[near], TINY))
    chances[near] = np.exp(np.multiply.outer(logs, counts) - rates[near, None] - log_factorials).sum(axis=1)
    return np.minimum(chances, 1.0)


@dataclass(frozen=True)
class SemiStreamRace:
    algorithm: SemiStreamAlgorithm
    master_rows: int = ROWS
    memory_share: float | None = 0.10  # of R; None: what the arrival rate needs
    skew: float = 1.0
    arrival_rate: float | None = None  # stream rows a second; None: full load
    switching_factor: float = 1.0
    buffer_bytes: float | None = None  # None: the best by the model
    step_seconds: float = STEP_SECONDS  # for whatever is done to a row in memory
    data: DataSet = "synthetic"
    empty_bytes: int | None = EMPTY_BYTES  # None: values without master rows never move
    mutant: str = ""  # one of those above

    @property
    def seconds(self) -> float:
        return 0.1 if self.algorithm == "meshjoin" else 0.5

    def run(self, scale: int, seed: int) -> History:
        if not 1 <= scale <= self.master_rows // LEAST_ROWS:
            most = self.master_rows // LEAST_ROWS
            raise InvalidCall(f"scale={scale} is not possible here; give 1 (the paper's size) to {most}.")
        rng = np.random.default_rng((seed, 4))
        values = join_values(self.data, self.master_rows // scale, self.skew, rng)
        sizes = self.sizes(scale)
        join = CountedSemiStream(
            values,
            sizes,
            self._costs(),
            Load(self.total_bytes(scale), self.arrival_rate),
            placement(sizes, self.switching_factor, self.mutant) if self._has_cache else None,
            rng,
            self.empty_bytes,
            cycles_waited=2 if self.mutant == STAYS else 1,
        )
        cycles = [join.run_cycle() for _ in range(WARM_CYCLES + MEASURED_CYCLES)]
        return replace(history_of_cycles(cycles, sizes.steps), stands_for=scale)

    def mutated(self, mutant: str) -> Self:
        """A mutant is an algorithm and what is wrong with it."""
        algorithm, wrong = mutant.split(": ")
        return replace(self, mutant=wrong) if algorithm == self.algorithm else self

    @property
    def _has_cache(self) -> bool:
        return self.algorithm == "ssbj" or self.mutant == HAS_CACHE

    def sizes(self, scale: int) -> Sizes:
        master_bytes, stream_bytes = ROW_BYTES[self.data]
        buffer_rows = self._buffer_bytes(scale) / master_bytes
        return Sizes(self.master_rows / scale, buffer_rows, master_bytes, stream_bytes, POINTER_BYTES)

    def _buffer_bytes(self, scale: int) -> float:
        total = self.total_bytes(scale)
        if self.buffer_bytes is not None:
            return self.buffer_bytes / scale
        if total is None:
            return SMALL_BUFFER_BYTES / scale
        return best_buffer_bytes(costs_of(self.step_seconds), ROW_BYTES[self.data][0], total)

    def total_bytes(self, scale: int) -> float | None:
        """The memory that it is given."""
        if self.memory_share is None:
            return None
        return self.memory_share * self.master_rows / scale * ROW_BYTES[self.data][0]

    def _costs(self) -> Costs:
        costs = costs_of(self.step_seconds)
        match self.mutant:
            case "disk half as fast":
                return replace(costs, byte_seconds=2 * costs.byte_seconds, seek_seconds=2 * costs.seek_seconds)
            case "seeks cost nothing":
                return replace(costs, seek_seconds=0.0)
        return costs


def history_of_cycles(cycles: list[Cycle], steps: float) -> History:
    """A moment after each cycle. Stream rows never wait for the join here, so nothing is buffered."""
    first = Cycle(0.0, 0.0, 0, 0, 0.0, 0.0, 0, 0, 0)
    table = np.array([first, *cycles], np.float64)
    columns = {name: table[:, place] for place, name in enumerate(Cycle._fields)}
    for name in ("seconds", "disk_seconds", "stream_rows", "answered_rows", "results"):
        columns[name] = columns[name].cumsum()
    columns["buffered_rows"] = np.zeros(len(table))
    columns["cost_seconds"] = columns["seconds"]
    columns["cycles"] = np.arange(len(table), dtype=np.float64)
    columns["iterations"] = steps * columns["cycles"]
    return History(
        columns,
        [ARRIVING] * len(table),
        last_arrival_seconds=float(columns["seconds"][-1]),
        events=Counter(),
        early_results=int(columns["results"][-1]),
        most_buffered_rows=0,
        most_buffered_in_reaction=0,
        overflowed_at_seconds=None,
    )
