"""Tags of rows and tallies of them: without an array of tags, the same as with one."""

import numpy as np
import pytest

from sooner.estimation.tags import ALL_TAGS, MOST_TAGS, InBlocks, InTurn, tallied


def test_rows_in_turn() -> None:
    tagging = InTurn(30, 100)
    tags = np.arange(30, 130) % MOST_TAGS
    some = np.array([0, 1, 2, 57, 99])
    assert tagging.of_rows(None).tolist() == tags.tolist()
    assert tagging.of_rows(some).tolist() == tags[some].tolist()
    assert tallied(tagging.tallies())[ALL_TAGS] == 100


@pytest.mark.parametrize("begin, end", [(0, 60), (5, 41), (10, 10), (19, 20), (59, 60)])
def test_rows_of_blocks_and_of_parts_of_them(begin: int, end: int) -> None:
    told, sizes = [7, 0, 31, 7], [10, 0, 20, 30]
    tags = np.repeat(told, sizes)[begin:end]
    tagging = InBlocks(told, sizes).between(begin, end)
    some = np.flatnonzero(np.arange(len(tags)) % 3 == 0)
    assert tagging.of_rows(None).tolist() == tags.tolist()
    assert tagging.of_rows(some).tolist() == tags[some].tolist()
    assert tallied(tagging.tallies())[:ALL_TAGS].tolist() == np.bincount(tags, minlength=MOST_TAGS).tolist()
