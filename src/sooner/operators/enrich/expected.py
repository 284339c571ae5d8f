"""What a look-up will cost, told before any row is read: a model of the disk, not of the processor.

Keys are hashed, so those that a batch asks for are spread evenly over the blocks of the master.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.budget import UNLIMITED_BYTES, format_bytes
from sooner.operators.enrich.plan import EnrichPlan
from sooner.operators.enrich.probing import HELD_SHARE
from sooner.operators.enrich.scanning import READY_SHARE
from sooner.policies.view import SOLID_STATE, DeviceCosts
from sooner.runs.expected_bytes import bytes_of_row

ASKED_ROWS: Final = 100_000  # for which it is told how long a look-up takes
GIGABYTE: Final = 2**30
NEARLY: Final = 0.9  # of the time of a pass is as much as one
ENOUGH: Final = 40  # rows for each block touch all of them
AT_ONCE: Final = "each row is answered as it comes"


@dataclass(frozen=True)
class Room:
    """What an engine gives the operator: of all its partitions together, and the size of a block of any."""

    memory_bytes: int
    block_bytes: int
    alone: bool  # as in `Means`


def expected(plan: EnrichPlan, schemas: Sequence[pa.Schema], master_rows: int | None, room: Room) -> list[str]:
    """What will be done and why, and how long that takes, in words."""
    first, row_bytes = f"enriched by {plan.algorithm}, how={plan.kind.name!r}", bytes_of_row(plan.stored(schemas))
    if room.memory_bytes >= UNLIMITED_BYTES // 2:
        return [first, f"master: stays in memory, which has no limit; {AT_ONCE}"]
    memory = f"about {format_bytes(room.memory_bytes)} of memory"
    on_disk = f"on disk in sorted blocks of {format_bytes(room.block_bytes)}"
    if master_rows is None:
        size = f"rows of about {row_bytes:,} bytes, of which {memory} has {_about(room.memory_bytes / row_bytes)}"
        return [first, f"master: {size}; if there are more, {on_disk}", *_of_disk(plan, schemas[0], None, room)]
    n_bytes = master_rows * row_bytes
    size = f"{master_rows:,} rows of about {row_bytes:,} bytes, {format_bytes(n_bytes)}"
    if n_bytes <= room.memory_bytes:
        return [first, f"master: {size}, fits {memory} and stays there; {AT_ONCE}"]
    return [first, f"master: {size}, too much for {memory}; {on_disk}", *_of_disk(plan, schemas[0], n_bytes, room)]


def _of_disk(plan: EnrichPlan, stream: pa.Schema, n_bytes: int | None, room: Room) -> list[str]:
    """How rows are looked up in so many bytes on disk, or in nobody knows how many."""
    a_pass = f"about {_time(pass_seconds(GIGABYTE if n_bytes is None else n_bytes))}"
    if n_bytes is None:
        a_pass += " for each GB of the master"
    if plan.algorithm != "probe":
        more = ", and others on disk" if plan.queue == "spill" else ""
        rows = _rows_in(1 - 1 / READY_SHARE, stream, room)
        return [f"wait: one cycle of the scan, {a_pass}; {rows} of the stream wait at a time{more}"]
    wait = "wait: a row is answered in the batch in which it comes"
    if plan.gathers(alone=room.alone):
        gathered = f"while others come behind, until {_rows_in(HELD_SHARE, stream, room)} are gathered"
        wait = f"wait: {gathered}, and then one pass at most, {a_pass}"
    return [_look_up(n_bytes, room.block_bytes), wait]


def _look_up(n_bytes: int | None, block_bytes: int) -> str:
    seconds = probe_seconds(ASKED_ROWS, UNLIMITED_BYTES if n_bytes is None else n_bytes, block_bytes)
    most = " at most" if n_bytes is None else ""
    many = "" if n_bytes is None else f"; from {_about(rows_worth_a_pass(n_bytes, block_bytes))} on nearly all is read"
    asked = f"for {ASKED_ROWS:,} rows that memory does not know"
    return f"look-up: about {_time(seconds)} of a solid-state disk{most} {asked}{many}"


def _rows_in(share: float, stream: pa.Schema, room: Room) -> str:
    return f"{_about(share * room.memory_bytes / bytes_of_row(stream))} rows"


def _about(number: float) -> str:
    return f"about {float(f'{number:.2g}'):,.0f}"


def _time(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def touched_blocks(n_rows: int, n_blocks: int) -> float:
    """How many blocks so many rows touch, as expected: n_blocks * (1 - (1 - 1 / n_blocks) ** n_rows)."""
    if n_blocks == 1:
        return float(min(n_rows, 1))
    return -n_blocks * math.expm1(n_rows * math.log1p(-1 / n_blocks))


def pass_seconds(n_bytes: int, device: DeviceCosts = SOLID_STATE) -> float:
    """For reading all of a master."""
    return float(device.scan_seconds(np.array(1), np.array(n_bytes)))


def probe_seconds(n_rows: int, n_bytes: int, block_bytes: int, device: DeviceCosts = SOLID_STATE) -> float:
    """For reading the blocks that so many rows touch; what lies between two of them is read over where that is cheaper.

    If a share p of them is touched, there are g others before the next one with a probability of p * (1 - p) ** g.
    """
    n_blocks = math.ceil(n_bytes / block_bytes)
    touched = touched_blocks(n_rows, n_blocks)
    block_seconds = block_bytes / device.page_bytes * device.sequential_seconds
    jump_seconds = device.random_seconds - min(block_seconds, device.sequential_seconds)
    p, too_far = touched / n_blocks, math.ceil(jump_seconds / block_seconds)
    between = sum(p * (1 - p) ** gap * gap * block_seconds for gap in range(too_far))
    between += (1 - p) ** too_far * jump_seconds
    return min(jump_seconds + touched * block_seconds + (touched - 1) * between, pass_seconds(n_bytes, device))


def rows_worth_a_pass(n_bytes: int, block_bytes: int, device: DeviceCosts = SOLID_STATE) -> int:
    """From how many rows on they take about as long as a pass over all of the master."""
    goal, many = NEARLY * pass_seconds(n_bytes, device), ENOUGH * math.ceil(n_bytes / block_bytes)
    return 1 + bisect_left(range(1, many), goal, key=lambda rows: probe_seconds(rows, n_bytes, block_bytes, device))
