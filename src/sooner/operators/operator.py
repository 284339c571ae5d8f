"""The contract of an operator: what engines, the lab and the conformance suite know of one, and nothing else.

`docs/operators.md` is the page about it. What an operator promises:

- **Pure in sets.** What it gives and what state it gets into depends on its arguments and on which rows arrive in
  which call, not on their order within a call, nor on a clock or a random source. With several workers the order of
  results may vary, and nothing else.
- **Whole between calls.** `arrive` and `work` are generators of results, to be exhausted before the next call. Then the
  state is whole, and `snapshot` writes it down as plain data, from which a new operator goes on.
- **Bounded.** Rows in memory stay within the budget, and what is used beside it is bounded and documented. `work` does
  so many bytes of disk work at most, unless what cannot be divided has more by itself.
- **Exactly once.** All results together are the answer, each of them once; none is ever taken back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol, TypeVar

import pyarrow as pa

from sooner.budget import Account
from sooner.operators.events import Listener
from sooner.operators.inputs import Input, Storage
from sooner.operators.order import Order
from sooner.phases import Phase
from sooner.policies.view import SOLID_STATE, DeviceCosts, Surroundings, Together, View
from sooner.progress import Progress

R_co = TypeVar("R_co", covariant=True)
Port = Literal["ready", "blocked", "done"]
MakeRoom = Callable[[int], bool]  # frees so many bytes or more, and says whether anything was freed
FLUSH_FRACTION: Final = 0.1  # of the memory, when it is full: rarely enough to write in large pieces


class Interrupted(Exception):  # noqa: N818 - not an error: somebody wished it
    """The operator was told to end in the middle of its work."""


class Operator(Protocol[R_co]):
    """Who inherits from it has the optional parts: those with a body here."""

    @property
    def inputs(self) -> Sequence[Input]:
        """In the order in which calls name them."""

    @property
    def phase(self) -> Phase:
        """Until all inputs have ended, then the clean-up, then done."""

    @property
    def account(self) -> Account:
        """What rows in memory take of what they may."""

    @property
    def worked_bytes(self) -> int:
        """How much `work` has read and written, in this process."""

    def port(self, which: int) -> Port:
        """Whether this input takes rows now. While it is blocked an engine holds them back, and does `work`."""
        return "done" if self.inputs[which].ended else "ready"

    def expect(self, n_bytes: int) -> None:  # noqa: ARG002 - most take pieces as they come
        """Announce that the next calls of `arrive` are pieces of one, cut by code, with so many bytes in all."""
        return

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[R_co]:
        """Take in rows of inputs that are ready; `now` is in seconds. What follows from them and memory comes out.

        Nothing is done before the first result is asked for.
        """

    def learn(self, newest: Sequence[int | float | None], now: float) -> None:  # noqa: ARG002 - most forget nothing
        """Report each input's high-water mark and the time, to an operator that forgets."""
        return

    def end(self, which: int) -> None:
        """This input has no more rows. After the last of them the clean-up begins."""

    def has_work(self, around: Surroundings) -> bool:
        """Whether there is something to do although no row comes. Without any when it is to settle, all that has
        arrived has had its effect.
        """

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[R_co]:
        """A piece of disk work of so many bytes: the most urgent there is, or nothing."""

    def evict(self, evictions: Together) -> bool:  # noqa: ARG002 - by default nothing leaves on demand
        """Let these rows leave memory, between calls or when it asks for room itself. Whether any did."""
        return False

    def told(self) -> dict[str, Any] | None:
        """Say as plain data what there is to say beside results, between calls; None where results say all."""
        return None

    def view(self, around: Surroundings) -> View:
        """What policies see."""

    def progress(self) -> Progress:
        """What people see. May be asked from any thread, and in the middle of a call."""

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data; rows in memory are written to run files, which it names."""

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from a snapshot, once; this operator must be new, and made with the same arguments.

        Only the memory may differ: if it is less than the rows in it take, some leave it at once.
        """

    def interrupt(self) -> None:
        """Let whatever is being done end soon, with `Interrupted`; from any thread. No later call goes on."""

    def close(self) -> None:
        """No more calls are coming: threads end, unfinished files are given up, its account is closed."""
        self.account.close()


@dataclass(frozen=True)
class Means:
    """What an engine gives an operator to work with."""

    account: Account
    workers: int = 1
    flush_fraction: float = FLUSH_FRACTION  # of its share leaves memory at least, when that is full
    crowd: int | None = None  # of so many runs on disk that are alike the smaller ones become one
    device: DeviceCosts = SOLID_STATE
    listener: Listener | None = None
    expected_rows: int | None = None  # of all inputs together, if their sources know
    memory_bytes: int = 0  # as the user gave them, for refusals that name how many would do
    room: MakeRoom | None = None  # how room is made when memory is full; by default the operator's own policy decides
    alone: bool = True  # whether all rows of its inputs come to it; else it is told how new the newest are

    def of_inner(self, name: str, share: float) -> "Means":
        """For an operator inside of this one, which may count on such a share of the memory."""
        owner, share_bytes = f"{self.account.owner}, {name}", int(self.account.share_bytes * share)
        return replace(self, account=self.account.budget.account(owner, share_bytes))


class OperatorPlan(Protocol[R_co]):
    """Which operator it is, as plain data that travels to wherever it runs."""

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        """By which codes an engine cuts rows that arrive together; for most operators those by which they are kept."""

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        """The columns of the results. Raises InvalidCall if these inputs cannot be."""

    def make(
        self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means
    ) -> Operator[R_co]:
        """The operator itself, for inputs of these names."""
