"""Compiled loops of fixed seeds, by themselves and under sanitizers; and whether the fuzzer sees what is wrong."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fuzz import sanitizers
from fuzz.blocks import blocks, require_right
from fuzz.family import dice_of
from fuzz.fences import Fences
from fuzz.kernel_references import KERNELS
from fuzz.workers import Worker

SOURCE = sanitizers.PACKAGE / "kernels" / "native" / "kernels.c"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seeds", blocks(10 * len(KERNELS)), ids=str)
def test_kernels_of_fixed_seeds(seeds: range) -> None:
    require_right("kernels", seeds)


def exported() -> set[str]:
    """Names of loops, those of macros with what they are made for."""
    text = SOURCE.read_text()
    found = set(re.findall(r"^EXPORT \w+ (\w+)\(", text, re.MULTILINE))
    for macro, argument, body in re.findall(r"#define (\w+)\((\w+)[^)]*\)((?:.*\\\n)+)", text):
        for name in re.findall(rf"EXPORT \w+ (\w+)##{argument}\(", body):
            found |= {name + made_for for made_for in re.findall(rf"^{macro}\((\w+)", text, re.MULTILINE)}
    return found


def test_every_loop_is_among_them() -> None:
    assert exported() == set(KERNELS)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    worker = Worker(sanitizers.environment(tmp_path_factory.mktemp("sanitized")).variables)
    yield worker
    worker.close()


@pytest.mark.parametrize(("family", "cases"), [("kernels", 2 * len(KERNELS)), ("joins", 20), ("estimates", 20)])
def test_fixed_seeds_under_sanitizers(family: str, cases: int, sanitized: Worker) -> None:
    for seed in range(cases):
        report = sanitized.wrong_with(family, seed)
        assert report is None, f"{family} {seed}: {report}"


BEYOND = """
import ctypes, numpy as np
from fuzz.family import dice_of
from fuzz.fences import Fences
fences = Fences(dice_of("fences", {seed}))
address, _ = fences.place(np.arange(5, dtype=np.int64), writable={writable})
{what}
"""


@pytest.mark.parametrize(
    ("what", "writable"),
    [
        ("[ctypes.string_at(address + 40, 1), ctypes.string_at(address - 1, 1)]", True),  # one of both is a fence
        ("ctypes.memset(address, 1, 1)", False),
    ],
)
def test_who_leaves_an_array_between_fences_dies_of_it(what: str, writable: bool) -> None:
    program = BEYOND.format(seed=1, what=what, writable=writable)
    done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[1], capture_output=True)
    assert done.returncode < 0


def test_what_is_written_beside_an_array_in_its_own_page_is_seen() -> None:
    fences = Fences(dice_of("fences", 0))
    _, array = fences.place(np.arange(5), writable=True)
    assert fences.are_whole()
    *_, (_, content, begin, end) = fences._rooms
    content[begin - 1 if begin > 4096 else end] = 0
    assert not fences.are_whole()
    assert array.tolist() == [0, 1, 2, 3, 4]
