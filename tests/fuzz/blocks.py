"""Fixed seeds for `make test`, in blocks that are a test each."""

import pytest

from fuzz.trial import wrong_with

BLOCK = 20


def blocks(cases: int) -> list[range]:
    return [range(first, min(first + BLOCK, cases)) for first in range(0, cases, BLOCK)]


def require_right(family: str, seeds: range) -> None:
    for seed in seeds:
        if (report := wrong_with(family, seed)) is not None:
            pytest.fail(f"{family} {seed}: {report}", pytrace=False)
