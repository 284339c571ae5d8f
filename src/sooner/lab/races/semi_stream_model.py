"""What SSBJ's authors compute of memory and time (sec. 3.2): equations 1 to 6, also of MESHJOIN, which has no cache.

Equations go both ways: how many rows may wait, and how fast that is, with so much memory; or how much memory a rate
needs. Equation 6 as it is printed puts bytes in the place of rows; what is meant is equation 5, with the memory of
equation 1 for the rows that it asks for.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from sooner.policies.view import Counts, Numbers


@dataclass(frozen=True)
class Sizes:
    """Table 1 of the paper."""

    master_rows: float  # R_t
    buffer_rows: float  # b, one partition of R
    master_bytes: float  # v_R, a row
    stream_bytes: float  # v_S
    pointer_bytes: float  # v_P, in the queue
    fudge: float = 1.0  # f: hash tables take so many times what rows do

    @property
    def steps(self) -> float:
        """Iterations of an R-cycle: R_t / b."""
        return self.master_rows / self.buffer_rows

    @property
    def buffer_bytes(self) -> float:
        return self.buffer_rows * self.master_bytes

    @property
    def waiting_bytes(self) -> float:
        """A stream row in the hash table H_S, with its pointer in the queue."""
        return self.pointer_bytes + self.fudge * self.stream_bytes

    @property
    def cached_bytes(self) -> float:
        """A master row in the cache H_R."""
        return self.fudge * self.master_bytes


@dataclass(frozen=True)
class Costs:
    """Table 1 of the paper, in seconds."""

    seek_seconds: float  # of each read into the disk buffer
    byte_seconds: float  # c_I/O(b) is a seek and so much for each byte
    look_up: float  # c_H, a row
    output: float  # c_O
    switch: float  # c_B
    remove: float  # c_E
    read: float  # c_S
    append: float  # c_A

    def buffer_seconds(self, sizes: Sizes) -> float:
        """c_I/O(b)."""
        return self.seek_seconds + sizes.buffer_bytes * self.byte_seconds


def memory_bytes(sizes: Sizes, chunk_rows: float, cached_rows: float = 0.0) -> float:
    """Equation 1: w_S rows a chunk, h_R master rows in the cache."""
    cache = sizes.buffer_bytes + cached_rows * sizes.cached_bytes
    return cache + chunk_rows * sizes.steps * sizes.waiting_bytes


def chunk_rows(sizes: Sizes, total_bytes: float, cached_rows: float = 0.0) -> float:
    """Equation 1 for w_S: as many as the memory that is left has room for."""
    left = total_bytes - sizes.buffer_bytes - cached_rows * sizes.cached_bytes
    return max(0.0, left / (sizes.steps * sizes.waiting_bytes))


def loop_seconds(sizes: Sizes, costs: Costs, answered_rows: float, waiting_rows: float) -> float:
    """Equation 2: c_loop, with w_N rows an iteration that the cache answers, and w_S that wait."""
    answered = answered_rows * (costs.read + costs.look_up + costs.output)
    waiting = waiting_rows * (costs.remove + costs.read + costs.append + costs.output)
    return costs.buffer_seconds(sizes) + sizes.buffer_rows * (costs.look_up + costs.switch) + answered + waiting


def service_rate(sizes: Sizes, costs: Costs, answered_rows: float, waiting_rows: float) -> float:
    """Equation 3: mu."""
    return (answered_rows + waiting_rows) / loop_seconds(sizes, costs, answered_rows, waiting_rows)


def rows_at_rate(sizes: Sizes, costs: Costs, rate: float, answered_share: float = 0.0) -> float:
    """Equation 5 for w = w_N + w_S: what arrives while one iteration lasts.

    No such w is found by machines that need longer for a row than there is to the next one.
    """
    idle = loop_seconds(sizes, costs, 0.0, 0.0)
    row = loop_seconds(sizes, costs, answered_share, 1 - answered_share) - idle
    return rate * idle / (1 - rate * row) if rate * row < 1 else float("inf")


def memory_at_rate(
    sizes: Sizes, costs: Costs, rate: float, answered_share: float = 0.0, cached_rows: float = 0.0
) -> float:
    """Equation 6: memory for a rate, by equations 5 and 1."""
    rows = rows_at_rate(sizes, costs, rate, answered_share)
    return memory_bytes(sizes, (1 - answered_share) * rows, cached_rows)


def best_buffer_bytes(costs: Costs, master_bytes: float, total_bytes: float) -> float:
    """The disk buffer with which MESHJOIN is fastest in this memory, by equations 1 to 3, if stream rows cost nothing.

    With x bytes an R-cycle takes time in proportion to seek/x + c, and memory - x is left for rows that wait.
    """
    per_byte = costs.byte_seconds + (costs.look_up + costs.switch) / master_bytes
    seek = costs.seek_seconds / per_byte  # in bytes that could be read meanwhile
    return seek * (sqrt(1 + total_bytes / seek) - 1)


def least_bytes(sizes: Sizes, masters: Counts, stream_rows: Numbers, values: Counts) -> float:
    """Theorem 1: both hash tables, when each join value is where it takes less.

    There are so many values with these master rows, and these stream rows in an R-cycle.
    """
    each = np.minimum(masters * sizes.cached_bytes, stream_rows * sizes.waiting_bytes)
    return float((each * values).sum())  # the product of a library would be of several threads


STEPS_OF_BISECTION: Final = 60


def most_stream_rows(
    sizes: Sizes, masters: Counts, chances: Numbers, values: Counts, table_bytes: float, most: float
) -> float:
    """Theorem 1 the other way: the most stream rows an R-cycle, up to so many, for which any placement has room."""
    low, high = 0.0, most
    for _ in range(STEPS_OF_BISECTION):
        middle = (low + high) / 2
        fits = least_bytes(sizes, masters, middle * chances, values) <= table_bytes
        low, high = (middle, high) if fits else (low, middle)
    return low
