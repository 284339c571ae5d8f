"""What streams into MINER's experiments (DINER sec. 5.5): relations, how they join, and what a row is made of.

R2 and R3 have 100,000 rows each and join each other by values of a Zipf distribution with skew 1 over 10,000. In the
*chain* each of them has another such value, a foreign key: R1 and R4 have those keys, each of them once. In the *star*
all join by the one value. So there are as many results with 2, 3 and 4 inputs. 220,000 rows of 200 bytes are the 44 MB
of which the paper's 8.8 MB are 20%.

A row of a trace is one number, made of its values. Operators get real rows, and these are small: a paper's row of 200
bytes would be copied with each of 170 million results. All inputs weigh the same in memory, with codes, stamps, join
bit and index; where one has less, it gets bytes that nobody looks at. On disk a row weighs as much.

Scale. Where rows are divided, so are keys, or foreign keys would find no partner: one stands for so many that follow
each other. In the chain the values of R2 and R3 stay as many as they are; in the star they are keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
import pyarrow as pa

from sooner.lab.kept_runs import KeptBlock, KeptRuns
from sooner.lab.traces import Keys
from sooner.operators.multiway.accesses import index_bytes
from sooner.operators.multiway.graph import ColumnOf, Graph, graph_of
from sooner.operators.multiway.plan import MultiPlan
from sooner.runs.run import HELPER_BYTES, Run

RELATION_ROWS: Final = 100_000  # of R2 and of R3
VALUES: Final = 10_000  # and rows of R1 and of R4
SKEW: Final = 1.0
RELATIONS: Final = ("R2", "R3", "R1", "R4")  # in the order in which they are added
FOREIGN_KEYS: Final = {"R2": "R1", "R3": "R4"}
JOIN_BIT_BYTES: Final = 1

Shape = Literal["chain", "star"]


@dataclass(frozen=True)
class Relations:
    """The first so many of R2, R3, R1 and R4, joined in this shape; rows have join bits or not."""

    inputs: int
    shape: Shape
    join_bits: bool
    scale: int

    @property
    def names(self) -> tuple[str, ...]:
        return RELATIONS[: self.inputs]

    @cached_property
    def graph(self) -> Graph:
        equalities = [(ColumnOf("R2", "value"), ColumnOf("R3", "value"))]
        for name, other in FOREIGN_KEYS.items():
            if self.shape == "chain" and other in self.names:
                equalities.append((ColumnOf(name, "key"), ColumnOf(other, "key")))
            elif other in self.names:
                equalities.append((ColumnOf("R2", "value"), ColumnOf(other, "value")))
        return graph_of(self.names, equalities)

    def columns(self, name: str) -> tuple[str, ...]:
        """Those that are joined by."""
        if self.shape == "star":
            return ("value",)
        if name in FOREIGN_KEYS.values():
            return ("key",)
        return ("value", "key") if FOREIGN_KEYS[name] in self.names else ("value",)

    # What rows hold

    @property
    def n_keys(self) -> int:
        """As many as R1 and R4 have rows."""
        return VALUES // self.scale

    @property
    def n_values(self) -> int:
        return VALUES if self.shape == "chain" else self.n_keys

    @property
    def n_rows(self) -> int:
        """Of all four relations, however many take part."""
        return 2 * (RELATION_ROWS // self.scale + self.n_keys)

    def keys(self, rng: np.random.Generator) -> list[Keys]:
        """The rows of each relation, in the order of their arrival. All are drawn, so that more inputs change none."""
        drawn: dict[str, Keys] = {}
        for name in RELATIONS:
            if name in FOREIGN_KEYS:
                rows = RELATION_ROWS // self.scale
                value, key = _zipf(rng, rows, self.n_values), _zipf(rng, rows, VALUES) // np.int32(self.scale)
                drawn[name] = value * np.int32(self.n_keys) + key if len(self.columns(name)) > 1 else value
            else:
                drawn[name] = rng.permutation(self.n_keys).astype(np.int32)
        return [drawn[name] for name in self.names]

    def results(self, keys: Sequence[Keys]) -> int:
        """How many there are in all: each foreign key has its one partner."""
        left, right = (
            np.bincount(some // self.n_keys if len(self.columns(name)) > 1 else some, minlength=self.n_values)
            for name, some in zip(FOREIGN_KEYS, keys[:2], strict=True)
        )
        return int(left @ right)

    # What rows are made of

    @property
    def row_bytes(self) -> int:
        """What a row of any input weighs: as much as the heaviest with nothing to fill it up."""
        return HELPER_BYTES + JOIN_BIT_BYTES + max(self._own_bytes)

    @cached_property
    def _own_bytes(self) -> list[int]:
        """What keys and indexes weigh, of a row of each input."""
        plan = MultiPlan(self.graph)
        coders = plan.coders(plan.orders(self._keys_alone))
        return [
            sum(type_.byte_width for type_ in schema.types) + index_bytes(range(len(of_input)))
            for schema, of_input in zip(self._keys_alone, coders, strict=True)
        ]

    @property
    def _keys_alone(self) -> list[pa.Schema]:
        return [pa.schema([(column, pa.int32()) for column in self.columns(name)]) for name in self.names]

    def filling_bytes(self, which: int) -> int:
        join_bit = JOIN_BIT_BYTES if self.join_bits else 0
        return self.row_bytes - HELPER_BYTES - join_bit - self._own_bytes[which]

    @cached_property
    def schemas(self) -> tuple[pa.Schema, ...]:
        return tuple(
            schema.append(pa.field(f"filling_{self.names[which]}", pa.binary(filling))) if filling else schema
            for which, schema in enumerate(self._keys_alone)
            for filling in [self.filling_bytes(which)]
        )

    def batch(self, which: int, keys: Keys) -> pa.RecordBatch:
        """The rows with these numbers."""
        parts = [keys] if len(self.columns(self.names[which])) == 1 else np.divmod(keys, np.int32(self.n_keys))
        arrays = [pa.array(part) for part in parts]
        if filling := self.filling_bytes(which):
            nothing = pa.py_buffer(bytes(filling * len(keys)))
            arrays.append(pa.Array.from_buffers(pa.binary(filling), len(keys), [None, nothing]))
        return pa.record_batch(arrays, schema=self.schemas[which])


class WeighedRuns(KeptRuns):
    """Rows weigh on disk what they do in memory."""

    def __init__(self, row_bytes: int) -> None:
        super().__init__()
        self._row_bytes = row_bytes

    def encode(self, run: Run, *, shares_stamps: bool = False) -> list[KeptBlock]:
        blocks = super().encode(run, shares_stamps=shares_stamps)
        return [replace(block, n_bytes=block.n_rows * self._row_bytes) for block in blocks]


def _zipf(rng: np.random.Generator, rows: int, values: int) -> Keys:
    """From 0 on, the first the most frequent."""
    weights = np.arange(1, values + 1, dtype=np.float64) ** -SKEW
    return rng.choice(values, rows, p=weights / weights.sum()).astype(np.int32)
