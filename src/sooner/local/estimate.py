"""`sooner.estimate`: aggregates over a join, as they seem to be and how sure that is, until they are exact."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from sooner.arguments import Columns
from sooner.asked.choosing_algorithm import AskedAlgorithm, Known, choose
from sooner.asked.joins import equi_join, in_words
from sooner.errors import InvalidJoin, SoonerError
from sooner.estimation.estimate import Estimate, as_rows
from sooner.estimation.preparation import TAG
from sooner.estimation.question import Aggregates, By, Question, question_of
from sooner.estimation.reading_off import Sizes, estimate_of, sizes_by_now, usable_confidence, usable_sizes
from sooner.estimation.reckoning import Foremost
from sooner.estimation.workings import workings_of
from sooner.local.answer import Answer
from sooner.local.arguments import Settings, settings_of
from sooner.local.inbox import Waiting
from sooner.local.pacing import Pace
from sooner.local.running import Running
from sooner.local.sampling import prepared_sources
from sooner.operators.folding.folds import Folds
from sooner.operators.folding.join import require_sampling
from sooner.operators.folding.plan import FoldingPlan, joined_columns
from sooner.operators.folding.sampled import SampledFolds, SampledPlan
from sooner.operators.pieces import weight
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sources.opening import opened
from sooner.sources.sampling import Sampling, guided_side, samples_of
from sooner.sources.source import Source

Shape = Callable[[Estimate], Estimate]


def estimate(
    left: object,
    right: object,
    on: Columns | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    aggregates: Aggregates,
    by: By = None,
    where: Any = None,
    confidence: float = 0.95,
    until: float | str | None = None,
    seconds: float | None = None,
    sampling: Sampling | None = None,
    total_rows: tuple[int | None, int | None] | None = None,
    seed: int = 0,
    suffixes: tuple[str, str] | None = None,
    algorithm: AskedAlgorithm = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    workers: int | None = None,
    spill_dir: str | Path | None = None,
) -> "Estimates":
    """Estimate aggregates over the inner join of two inputs while they are read, until they are exact.

    left, right, on, left_on, right_on, suffixes, memory, partitions, workers, spill_dir: as for `sooner.join`.
    aggregates: names, and for each a function of an expression of SQL over the columns of the join, such as
        {"revenue": "sum(price * (1 - discount))", "n": "count(*)"}, or ("sum", "price"); count, sum, avg, variance or
        stddev. Such a text alone or a list of them as well: "sum(price)", ["sum(price)", "n = count(*)"].
    by: columns or expressions, in whose groups they are wanted.
    where: a condition in SQL or as an expression of PyArrow: only such rows of the join count.
    confidence: of the intervals: in so many of all cases they hold.
    until: the relative error at which to stop, such as 0.01 or "1%": half of the widest interval over its value.
    seconds: after which to stop.
    sampling: what comes in random order, "rows" or "blocks" (batches). Tables and Parquet files are read block by block
        in random order unless "rows" says that they are shuffled already; files of `sooner shuffle` say so themselves.
    total_rows: how many rows the inputs have, where they do not know. Without it counts and sums are those so far.
    seed: of the random order.
    algorithm: one that covers rectangles of random rows: "pr_join", "ripple" or "grace". "auto" is "pr_join".

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> estimates = sooner.estimate(orders, customers, on="customer", by="name", aggregates={"sum": ("sum", "amount")})
    >>> estimates.final()["sum"]["Ada"].value
    40
    """
    choice = choose(algorithm, Known(is_estimate=True))
    join = equi_join(on, left_on, right_on, suffixes, choice.algorithm)
    require_sampling(join.algorithm)
    terms = EstimateTerms(Limits(confidence, until, seconds), sampling, total_rows, seed)
    settings = settings_of(join.algorithm, memory, partitions, workers, spill_dir)
    with opened((left, right), INPUTS) as sources:
        question = question_of(aggregates, by, where, join.output([source.schema for source in sources]))
        return estimates_of(sources, join, question, terms, settings, in_words(join, choice))


def estimates_of(
    sources: Sequence[Source],
    join: TwoWayPlan,
    question: Question,
    terms: "EstimateTerms",
    settings: Settings,
    notes: Sequence[str],
    shape: Shape | None = None,
    foremost: Foremost | None = None,
) -> "Estimates":
    """The same of a question that was read already. `notes` are what there is to explain of the join, and `shape` is
    what becomes of each estimate, of which the `foremost` groups are shown alone.
    """
    schemas = [source.schema for source in sources]
    keys = join.left_on, join.right_on
    workings = workings_of(question, schemas, keys, joined_columns(join, schemas))
    samples = samples_of(sources, [side.needed for side in workings.sides], keys, terms.sampling, terms.seed)
    sizes = usable_sizes(terms.total_rows, [sample.n_rows for sample in samples])
    plan = FoldingPlan(*keys, join.algorithm, workings, guided_side(samples))
    prepared = prepared_sources(samples, workings.sides, settings.memory_bytes)
    return Estimates(plan, prepared, settings, sizes, terms.limits, notes, shape=shape, foremost=foremost)


class Limits:
    """When to stop, and how sure intervals are."""

    def __init__(self, confidence: float, until: float | str | None, seconds: float | None) -> None:
        self.error = _share("until", until)
        self.confidence = usable_confidence(confidence)
        if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
            raise InvalidJoin(f"seconds={seconds!r} must be a number of seconds, more than 0.")
        self.seconds = seconds

    def are_reached(self, found: Estimate) -> bool:
        if self.seconds is not None and found.seconds >= self.seconds:
            return True
        error = found.relative_error
        return self.error is not None and error is not None and error <= self.error


@dataclass(frozen=True)
class EstimateTerms:
    """What the user gave for estimates."""

    limits: Limits
    sampling: Sampling | None
    total_rows: Sequence[int | None] | None
    seed: int
    sampled: str | None = None  # of more than two tables, the one that is sampled; None: the largest


class Estimates(Running[Folds | SampledFolds], Answer):
    """Iterate for estimates as they come: the last one is exact, unless it was to stop before.

    `to_table`, `to_pandas`, `write` and the like are of the last one; `to_reader` has all of them.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> for estimate in sooner.estimate(orders, customers, on="customer", aggregates={"n": "count"}):
    ...     pass
    >>> estimate["n"].value
    3
    """

    def __init__(
        self,
        plan: FoldingPlan | SampledPlan,
        sources: Sequence[Source],
        settings: Settings,
        sizes: Sizes,
        limits: Limits,
        notes: Sequence[str],
        names: Sequence[str] = INPUTS,
        shape: Shape | None = None,
        foremost: Foremost | None = None,
    ) -> None:
        known = None if None in sizes else sum(size or 0 for size in sizes)
        super().__init__(plan, sources, settings, names, expected_rows=known, notes=notes)
        self._workings = plan.workings
        self._guided = plan.sampled if isinstance(plan, SampledPlan) else plan.guided
        self._sizes = sizes
        self._limits = limits
        self._has_ended = False
        self._shape = shape
        self._foremost = foremost
        self._held: list[list[pa.RecordBatch]] = [[] for _ in sources]
        self.newest: Estimate | None = None  # that was given

    def __iter__(self) -> Iterator[Estimate]:
        return self._estimates(self._read_once())

    def final(self) -> Estimate:
        """The last one: exact, or good enough, or as good as it is when the time is over."""
        if not self._has_ended:
            for _ in self:
                pass
        if self.newest is None:
            raise SoonerError("The query was stopped before there was an estimate; ask it again.")
        return self.newest

    def to_table(self) -> pa.Table:
        """The last estimate, a row for each group; of a query in SQL its answer."""
        return self.final().to_table() if self._shape is None else self.final().table

    def __repr__(self) -> str:
        said = self._how_far if self.newest is None else str(self.newest)
        return f"<sooner.Estimates {said}>"

    def _repr_html_(self) -> str:
        """The last estimate that was read, or how far it is. Nothing is read for it."""
        if self.newest is None:
            return f"<div><strong>sooner.Estimates</strong> {escape(self._how_far)}</div>"
        return self.newest._repr_html_()

    def to_reader(self) -> pa.RecordBatchReader:
        """All estimates as an Arrow stream: a row for each group and estimate, with when it was made.

        Values are doubles, as estimates are; `final().to_table()` has all digits of what is exact.
        """
        batches = (
            as_rows(one, rows=one.rows, share_read=one.share_read, seconds=one.seconds, exact=one.exact) for one in self
        )
        first = next(batches)
        return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], batches))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _estimates(self, changes: Iterator[Folds | SampledFolds]) -> Iterator[Estimate]:
        pace, known = Pace(), -1
        with self:
            for folds in changes:
                exact = self._operator.phase == "done"
                is_news = folds.changes > known and pace.allows(folds.n_groups)
                if not is_news and not exact:
                    continue
                known = folds.changes
                pace.begin()
                found = self.newest = self._estimate(folds, pace.seconds, exact=exact)
                pace.end(folds.n_groups)
                is_last = exact or self._limits.are_reached(found)
                self._has_ended = self._has_ended or is_last
                yield found
                if is_last:
                    return
            self._has_ended = True

    def _take_in(self, waiting: Sequence[Waiting]) -> Iterator[Folds | SampledFolds]:
        """Rows wait for the tallies behind them: until those come it is not known which share of all rows they are.

        So they come in whole blocks. Those for which there is no room at once come one after the other, and of a guided
        input after what they can match.
        """
        blocks = [self._whole_blocks(which, taken) for which, taken in enumerate(waiting)]
        at_once = [list(itertools.chain(*some)) for some in blocks]
        if weight(list(itertools.chain(*at_once))) > self._operator.account.share_bytes:
            for which in sorted(range(len(blocks)), key=lambda one: one == self._guided):
                for block in blocks[which]:
                    taken_in = [Waiting(block if one == which else [], None) for one in range(len(blocks))]
                    yield from super()._take_in(taken_in)
            at_once = [[] for _ in blocks]
        ends = [taken.end for taken in waiting]
        yield from super()._take_in(list(map(Waiting, at_once, ends)))

    def _whole_blocks(self, which: int, taken: Waiting) -> list[list[pa.RecordBatch]]:
        """Those that are complete; after the end, all. What has no tags is no sample, and comes as it is."""
        blocks, block = [], self._held[which]
        if TAG not in self._sources[which].schema.names:
            return [taken.batches]
        for batch in taken.batches:
            block.append(batch)
            if batch.num_rows and batch.column(TAG)[-1].as_py() < 0:  # a tally
                blocks.append(block)
                block = []
        self._held[which] = [] if taken.end is not None else block
        return [*blocks, block] if taken.end is not None else blocks

    def _estimate(self, folds: Folds | SampledFolds, seconds: float, *, exact: bool) -> Estimate:
        read = folds.tallies.sum(axis=1).tolist()
        sizes = sizes_by_now(self._sizes, read, [one.ended for one in self._operator.inputs])
        reckoning = folds.reckoning(sizes, self._limits.confidence, exact=exact)
        gathered = folds.gathered() if isinstance(folds, SampledFolds) else {}
        found = estimate_of(
            self._workings,
            folds.groups,
            reckoning,
            read,
            sizes,
            seconds,
            exact=exact,
            gathered=gathered,
            foremost=self._foremost,
        )
        return found if self._shape is None else self._shape(found)


def _share(name: str, given: object) -> float | None:
    """0.01 or "1%"."""
    if given is None:
        return None
    text = given.strip() if isinstance(given, str) else given
    try:
        share = float(text[:-1]) / 100 if isinstance(text, str) and text.endswith("%") else float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        share = -1.0
    if share == 0 and not isinstance(given, bool):
        raise InvalidJoin(f"{name}={given!r} would never stop before the exact answer; leave it out for that.")
    if isinstance(given, bool) or not 0 < share < 1:
        raise InvalidJoin(f"{name}={given!r} must be a share, such as 0.01 or '1%'.")
    return share
