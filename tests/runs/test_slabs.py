"""Slabs: ranges of codes that cover all there is, each small enough to be read at once."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.runs.block_index import Block, Blocks
from sooner.runs.slabs import Slab, slabs

codes = st.one_of(st.integers(0, 9), st.sampled_from([2**63, 2**64 - 1]))


def blocks_of(*blocks: tuple[int, int, int]) -> Blocks:
    """Blocks from first to last code with so many bytes; only what `slabs` looks at is meant."""
    return Blocks.of([Block(0, n_bytes, 1, first, last, 0) for first, last, n_bytes in blocks])


@st.composite
def some_blocks(draw: st.DrawFn) -> Blocks:
    bounds = sorted(draw(st.lists(codes, min_size=2, max_size=12)))
    return blocks_of(*((a, b, draw(st.integers(1, 50))) for a, b in zip(bounds[::2], bounds[1::2], strict=False)))


def bounds_of(some: list[Slab]) -> list[tuple[int, int]]:
    return [(slab.low, slab.high) for slab in some]


@given(runs=st.lists(some_blocks(), max_size=4), slab_bytes=st.integers(1, 120))
@settings(max_examples=200)
def test_slabs_cover_all_codes_once(runs: list[Blocks], slab_bytes: int) -> None:
    bounds = bounds_of(list(slabs(runs, slab_bytes)))
    assert bounds[0][0] == 0
    assert bounds[-1][1] == 2**64
    assert all(low < high for low, high in bounds)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(bounds))


@given(runs=st.lists(some_blocks(), max_size=4), slab_bytes=st.integers(1, 120), begin=codes)
@settings(max_examples=200)
def test_slabs_from_a_code_on_cover_what_is_there_once_and_know_its_bytes(
    runs: list[Blocks], slab_bytes: int, begin: int
) -> None:
    found = list(slabs(runs, slab_bytes, begin))
    assert found[0].low == begin
    assert found[-1].high == 2**64
    assert all(slab.low < slab.high for slab in found)
    assert all(before.high == after.low for before, after in itertools.pairwise(found))
    blocks = [block for run in runs for block in run]
    for slab in found:
        assert slab.n_bytes == sum(block.n_bytes for block in blocks if slab.low <= block.first_code < slab.high)
    assert sum(slab.n_bytes for slab in found) == sum(block.n_bytes for block in blocks if block.first_code >= begin)


def test_what_fits_is_one_slab() -> None:
    runs = [blocks_of((0, 10, 30), (10, 20, 30)), blocks_of((5, 30, 40))]
    assert list(slabs(runs, 100)) == [Slab(0, 2**64, 100)]


def test_nothing_is_one_slab_too() -> None:
    assert list(slabs([], 100)) == [Slab(0, 2**64, 0)]
    assert list(slabs([blocks_of((0, 10, 30))], 100, begin=11)) == [Slab(11, 2**64, 0)]


def test_slabs_are_cut_where_the_next_block_would_not_fit() -> None:
    run = blocks_of(*((10 * n, 10 * n + 9, 40) for n in range(6)))
    assert list(slabs([run], 100)) == [Slab(0, 20, 80), Slab(20, 40, 80), Slab(40, 2**64, 80)]


def test_a_code_that_fills_more_than_a_slab_gets_one_of_its_own() -> None:
    hot = blocks_of((1, 7, 40), (7, 7, 40), (7, 7, 40), (7, 7, 40), (7, 9, 40))
    assert (7, 8) in bounds_of(list(slabs([hot], 100)))
    highest = 2**64 - 1
    hottest = blocks_of((highest, highest, 60), (highest, highest, 60))
    assert (highest, 2**64) in bounds_of(list(slabs([hottest], 100)))


def test_a_code_with_a_slab_of_its_own_has_one_also_for_who_begins_with_it() -> None:
    """Who stops in the middle of it finds the same steps again."""
    hot = blocks_of((1, 7, 40), (7, 7, 40), (7, 7, 40), (7, 7, 40), (7, 9, 40))
    [whole] = [slab for slab in slabs([hot], 100) if slab.low == 7]
    assert next(iter(slabs([hot], 100, begin=7))) == whole


def test_wide_rows_with_a_block_each_share_slabs() -> None:
    """Not every code that has a block by itself is hot: a slab for each would read all runs for every row."""
    wide = blocks_of(*((10 * n, 10 * n, 40) for n in range(100)))
    assert len(list(slabs([wide], 400))) == 10
