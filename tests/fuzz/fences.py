"""Memory between pages that nothing may touch: a loop that reads or writes beyond its arrays dies of it.

An array ends where such a page begins, or begins where one ends; what is only read cannot be written. What lies beside
the array in its own page is looked at afterwards.
"""

import ctypes
import mmap
from random import Random
from typing import Any

import numpy as np

_NOTHING, _READ = 0, 1
_FILLER = 0xA5
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Words(list[Any]):
    """A struct or an array of pointers: whole numbers, and arrays or other words by their addresses."""


class Fences:
    """Arrays of one call; they are gone when this is."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._rooms: list[tuple[mmap.mmap, np.ndarray[Any, Any], int, int]] = []

    def address(self, argument: Any, *, writable: bool = False) -> int:
        """Where an argument lies for a loop: arrays, words, or nothing."""
        if argument is None:
            return 0
        if isinstance(argument, Words):
            words = [one if isinstance(one, int) else self.address(one, writable=writable) for one in argument]
            argument = np.array([word % 2**64 for word in words], np.uint64)
        return self.place(argument, writable=writable)[0]

    def place(self, values: np.ndarray[Any, Any], *, writable: bool = False) -> tuple[int, np.ndarray[Any, Any]]:
        """A copy of the array between fences: its address, and itself."""
        page, size = mmap.PAGESIZE, values.nbytes
        inner = max(-(-size // page), 1) * page
        room = mmap.mmap(-1, inner + 2 * page)
        content = np.frombuffer(room, np.uint8)
        begin = page + (inner - size if self._dice.random() < 0.7 else 0)
        base = content.ctypes.data
        content[page : page + inner] = _FILLER
        content[begin : begin + size] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        _protect(base, page, _NOTHING)
        _protect(base + page + inner, page, _NOTHING)
        if not writable:
            _protect(base + page, inner, _READ)
        self._rooms.append((room, content, begin, begin + size))
        return base + begin, content[begin : begin + size].view(values.dtype).reshape(values.shape)

    def are_whole(self) -> bool:
        """Whether all that lies beside the arrays is as it was."""
        page = mmap.PAGESIZE
        return all(
            (content[page:begin] == _FILLER).all() and (content[end:-page] == _FILLER).all()
            for _, content, begin, end in self._rooms
        )


def _protect(address: int, size: int, how: int) -> None:
    if _libc.mprotect(address, size, how):
        raise OSError(ctypes.get_errno(), "mprotect")
