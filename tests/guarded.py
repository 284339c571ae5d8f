"""A join of the rows whose keys a third input allows: three inputs, one of them read whole first, and a join inside.

The smallest operator with an inner one. Until the list of allowed keys has ended, the ports of the others are blocked;
then their rows go into the join, as far as they are allowed. The list is in memory, each key once, and never leaves it;
it has an account of its own in the budget of the join.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.kernels.arrays import to_arrow
from sooner.named_algorithms import Algorithm
from sooner.operators.inputs import Input, Storage
from sooner.operators.operator import Means, Operator, Port
from sooner.operators.order import Order
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.phases import Phase
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress
from sooner.testing.invariants import check_invariants

ALLOWED = 2  # the third input


@dataclass(frozen=True)
class GuardedPlan:
    """The key is one column of one type in all inputs, of at most 8 bytes, so that codes are exact."""

    on: str
    algorithm: Algorithm

    @property
    def _join(self) -> TwoWayPlan:
        return TwoWayPlan((self.on,), (self.on,), ("_left", "_right"), self.algorithm)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        order = self._join.order(schemas[:ALLOWED])
        return replace(order, coders=[*order.coders, order.coders[0]])

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        return self._join.output(schemas[:ALLOWED])

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> "GuardedJoin":
        inner = self._join.make(names[:ALLOWED], schemas[:ALLOWED], storage, means.of_inner("join", 0.75))
        alone = Order([self._join.order(schemas[:ALLOWED]).coders[0]])
        kept = pa.schema([schemas[ALLOWED].field(self.on)])
        [allowed] = storage.inputs(alone, names[ALLOWED:], [kept])
        return GuardedJoin(inner, allowed, means.account)


class GuardedJoin(Operator[pa.RecordBatch]):
    def __init__(self, inner: TwoWayJoin[pa.RecordBatch], allowed: Input, account: Account) -> None:
        self._account = account  # of the list
        self._inner = inner
        self._allowed = allowed
        self._arrived = [0, 0, 0]

    @property
    def account(self) -> Account:
        return self._account

    @property
    def inputs(self) -> Sequence[Input]:
        return (*self._inner.inputs, self._allowed)

    @property
    def phase(self) -> Phase:
        return self._inner.phase if self._allowed.ended else "arriving"

    @property
    def worked_bytes(self) -> int:
        return self._inner.worked_bytes

    def port(self, which: int) -> Port:
        """The list comes first."""
        is_blocked = which != ALLOWED and not self._allowed.ended
        return "blocked" if is_blocked else super().port(which)

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        self._allow(rows[ALLOWED])
        kept = [[self._only_allowed(which, batch) for batch in rows[which]] for which in range(ALLOWED)]
        yield from self._inner.arrive(kept, now)
        self._arrived = [count + sum(b.num_rows for b in some) for count, some in zip(self._arrived, rows, strict=True)]

    def end(self, which: int) -> None:
        if which == ALLOWED:
            self._allowed.ended = True
        else:
            self._inner.end(which)

    def has_work(self, around: Surroundings) -> bool:
        return self._allowed.ended and self._inner.has_work(around)

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        if self.has_work(around):
            yield from self._inner.work(quantum_bytes, around)
        else:
            yield from self._inner.arrive([[], []], 0)  # where an interrupt is felt
        if self.phase == "done":
            self.account.release(self._allowed.resident_bytes)
            for partition in self._allowed.partitions:
                partition.resident.clear()

    def view(self, around: Surroundings) -> View:
        return self._inner.view(around)

    def progress(self) -> Progress:
        return replace(self._inner.progress(), phase=self.phase, arrived_rows=tuple(self._arrived))

    def snapshot(self) -> dict[str, Any]:
        return {"join": self._inner.snapshot(), "allowed": self._allowed.to_plain(), "arrived": self._arrived}

    def restore(self, data: dict[str, Any]) -> None:
        self._allowed.load_plain(data["allowed"], self.account)
        self._inner.restore(data["join"])
        self._arrived = data["arrived"]

    def check_invariants(self) -> None:
        check_invariants(self._inner)
        codes = self._codes()
        assert len(np.unique(codes)) == len(codes), "a key is on the list twice"
        assert self._allowed.resident_bytes == self.account.used_bytes

    def interrupt(self) -> None:
        self._inner.interrupt()

    def close(self) -> None:
        self._inner.close()
        super().close()

    def _allow(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Put keys on the list that are not on it."""
        some = [batch.select(self._allowed.schema.names) for batch in batches if batch.num_rows]
        for partition, run in zip(self._allowed.partitions, self._allowed.sorted(some).runs, strict=True):
            if run is None:
                continue
            first = np.diff(run.codes, prepend=~run.codes[:1]) != 0
            new = run.take(np.flatnonzero(first & ~np.isin(run.codes, self._codes())))
            if len(new):
                self.account.reserve(new.n_bytes)
                partition.resident.add(new)

    def _only_allowed(self, which: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        codes, has_key = self.inputs[which].code(batch)
        is_allowed = np.isin(codes, self._codes())
        return batch.filter(to_arrow(is_allowed if has_key is None else is_allowed & has_key))

    def _codes(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        runs = [run.codes for partition in self._allowed.partitions for run in partition.resident]
        return np.concatenate([np.empty(0, np.uint64), *runs])
