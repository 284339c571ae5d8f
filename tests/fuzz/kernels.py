"""Each compiled loop by itself: random, extreme and empty arguments between fences, against Python."""

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.family import dice_of, require
from fuzz.fences import Fences, Words
from fuzz.kernel_references import KERNELS, Kernel
from sooner.kernels.native import loop, prototypes

MOST_CALLS = 100_000
_STATE = (0, 0, 0, -1)


@dataclass(frozen=True)
class KernelCase:
    kernel: str
    arguments: list[Any]
    seed: int


class Kernels:
    name = "kernels"

    def case(self, seed: int) -> KernelCase:
        dice = dice_of(self.name, seed)
        kernel = sorted(KERNELS)[seed % len(KERNELS)]
        return KernelCase(kernel, KERNELS[kernel].make(dice), seed)

    def check(self, case: KernelCase) -> None:
        kernel = KERNELS[case.kernel]
        if kernel.by_itself is not None:
            kernel.by_itself(case.arguments, Fences(dice_of("fences", case.seed)))
        elif kernel.in_pieces:
            _check_pieces(kernel, case)
        else:
            _check_call(kernel, case)

    def shown(self, case: KernelCase) -> str:
        short = reprlib.Repr()
        short.maxother = short.maxlist = short.maxlong = 200
        return "\n".join([case.kernel, *(f"    {_text(one)}" for one in case.arguments)])

    def smaller(self, case: KernelCase) -> Iterator[KernelCase]:  # noqa: ARG002 - arguments hang together
        yield from ()


def _text(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype} {np.array2string(argument, threshold=100, max_line_width=100)}"
    return repr(argument)


def _call(name: str, addresses: list[int]) -> Any:
    of = None if hasattr(prototypes, name) else name.rpartition("_")[2]
    return loop(getattr(prototypes, name if of is None else name.removesuffix(f"_{of}")), of)(0, *addresses)


def _check_call(kernel: Kernel, case: KernelCase) -> None:
    """What it wrote and gave is what the reference wrote and gave."""
    fences = Fences(dice_of("fences", case.seed))
    given, written = [], []
    for kind, argument in zip(kernel.kinds, case.arguments, strict=True):
        if kind == "w":
            address, array = fences.place(argument, writable=True)
            given.append(address)
            written.append(array)
        else:
            given.append(argument if kind in "nsu" else fences.address(argument))
    found = _call(case.kernel, given)
    copies = [one.copy() if isinstance(one, np.ndarray) else one for one in case.arguments]
    expected = kernel.reference(*copies)
    require(fences.are_whole(), "it wrote beside its arrays")
    require(found == expected, f"it gives {found}, not {expected}")
    told = [copy for kind, copy in zip(kernel.kinds, copies, strict=True) if kind == "w"]
    for at, (one, other) in enumerate(zip(written, told, strict=True)):
        if at not in kernel.scratch:
            size = len(one) if kernel.only_first is None else min(len(one), kernel.only_first(found))
            same = one[:size] == other[:size]
            require(bool(np.all(same)), f"array {at} that it wrote is {one[:size]}, not {other[:size]}")


def _check_pieces(kernel: Kernel, case: KernelCase) -> None:
    """It gives pairs in pieces; together they are those of the reference, in its order."""
    *arguments, room = case.arguments
    fences = Fences(dice_of("fences", case.seed))
    given = [one if isinstance(one, int) else fences.address(one) for one in arguments]
    state_at, state = fences.place(np.array(_STATE, np.int64), writable=True)
    first_at, first = fences.place(np.zeros(room, np.int64), writable=True)
    second_at, second = fences.place(np.zeros(room, np.int64), writable=True)
    found: list[tuple[int, int]] = []
    n_probes = len(arguments[0])
    for _ in range(MOST_CALLS):
        if state[0] >= n_probes:
            break
        n = _call(case.kernel, [*given, state_at, first_at, second_at, room])
        require(0 <= n <= room, f"it found {n} pairs in room for {room}")
        found += zip(first[:n].tolist(), second[:n].tolist(), strict=True)
    require(bool(state[0] >= n_probes), "it does not come to an end")
    require(fences.are_whole(), "it wrote beside its arrays")
    expected = kernel.reference(*arguments)
    require(found == expected, f"it found {reprlib.repr(found)}, not {reprlib.repr(expected)}")


__all__ = ["KernelCase", "Kernels", "Words"]
