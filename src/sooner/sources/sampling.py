"""How inputs are read so that every beginning is a random sample: in the order in which they come, or block by block.

Where blocks say between which keys they are, as row groups of Parquet files do, the blocks of one input can come right
after those of the other that they can match. Then each of them is complete when it comes, and a few say as much of the
whole as such a sample can (tables that are in the order of their keys would otherwise meet late).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from sooner.errors import InvalidJoin
from sooner.sources.blocks import Blocks, blocks_of, partners, shuffled_order
from sooner.sources.chosen_columns import only_columns
from sooner.sources.source import Source, n_rows_of
from sooner.warning import warn_user

Sampling = Literal["rows", "blocks"]
FEW: Final = 8  # blocks meet in pairs if they can match one part of the other side in so many, or less


@dataclass(frozen=True)
class Sample:
    """How an input is read."""

    source: Source
    sampling: Sampling
    blocks: Blocks | None = None  # to be read in this order
    order: Sequence[int] = ()
    partners: Sequence[tuple[int, ...]] | None = None  # of each block, those of the other input that come before it

    @property
    def n_rows(self) -> int | None:
        return sum(self.blocks.n_rows) if self.blocks is not None else n_rows_of(self.source)


def require_sampling_by(sampling: object) -> None:
    if sampling is not None and sampling not in get_args(Sampling):
        raise InvalidJoin(f"sampling={sampling!r} must be 'rows' or 'blocks': what comes in random order.")


def samples_of(
    sources: Sequence[Source],
    columns: Sequence[Sequence[str]],
    keys: Sequence[Sequence[str]],
    sampling: Sampling | None,
    seed: int,
) -> tuple[Sample, Sample]:
    """How these columns of both inputs are read. One may come by blocks that are complete when they come."""
    require_sampling_by(sampling)
    samples = []
    for number, (source, needed, key) in enumerate(zip(sources, columns, keys, strict=True)):
        samples.append(sample_of(source, needed, key, sampling, seed + number))
    left, right = samples
    if len(left.order) >= len(right.order):
        return guided(left, right)
    right, left = guided(right, left)
    return left, right


def guided(larger: Sample, other: Sample) -> tuple[Sample, Sample]:
    """The input with more blocks has partners for them, which come in their order, if each can match few of those."""
    if larger.blocks is None or other.blocks is None:
        return larger, other
    met = partners(larger.blocks, other.blocks)
    if met is None or sum(map(len, met)) * FEW > len(met) * len(other.order):
        return larger, other
    needed = dict.fromkeys(number for block in larger.order for number in met[block])
    rest = [number for number in other.order if number not in needed]
    return replace(larger, partners=met), replace(other, order=[*needed, *rest])


def guided_side(samples: Sequence[Sample]) -> int | None:
    """The input of which blocks come after those of the other that they can match, if that is so."""
    return next((side for side, sample in enumerate(samples) if sample.partners is not None), None)


def rows_are_shuffled(source: Source) -> bool:
    """Whether it says so itself."""
    while (inner := getattr(source, "source", None)) is not None:
        source = inner
    return bool(getattr(source, "rows_are_shuffled", False))


def sample_of(
    whole: Source, columns: Sequence[str], keys: Sequence[str], sampling: Sampling | None, seed: int
) -> Sample:
    """How these columns of one input are read."""
    source = only_columns(whole, columns)
    if sampling == "rows" or (sampling is None and rows_are_shuffled(whole)):
        return Sample(source, "rows")
    blocks = blocks_of(source, keys)
    if blocks is not None:
        return Sample(source, "blocks", blocks, shuffled_order(len(blocks.n_rows), seed))
    if sampling is None:
        warn_user(
            f"{source.name} can be read in its own order only: intervals hold if its rows come in random order. Say "
            "sampling='rows' if they do, 'blocks' if its batches do, or write it once with `sooner shuffle`.",
        )
    return Sample(source, sampling or "rows")
