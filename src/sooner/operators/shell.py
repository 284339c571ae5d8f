"""What every operator repeats around its own work: one call at a time, phases, ticks, events, and an end in the middle.

An operator has a shell and gives its calls through it. After a failure in the middle of a call its state is not whole,
and the shell lets nobody go on.
"""

from collections.abc import Iterator
from operator import index
from typing import Any, Protocol, TypeVar

from sooner.errors import BudgetTooSmall
from sooner.operators.events import Entered, Event, Listener, Reached
from sooner.operators.operator import Interrupted
from sooner.operators.statistics.arrivals import Counts
from sooner.phases import Phase, Phases
from sooner.runs.run import NEVER, next_tick

R = TypeVar("R")


class Standing(Protocol):
    """How far an operator is."""

    @property
    def results(self) -> int:
        """How many there are by now."""

    @property
    def resident_bytes(self) -> Counts:
        """What is in memory, [input, partition]."""


class Shell:
    """`tick` counts the actions of the operator."""

    def __init__(self, listener: Listener | None) -> None:
        self.tick = NEVER
        self._listener = listener
        self._phases = Phases()
        self._busy = False
        self._interrupted = False
        self._failure: Exception | None = None

    @property
    def phase(self) -> Phase:
        return self._phases.now

    @property
    def is_busy(self) -> bool:
        """Whether it is in the middle of a call."""
        return self._busy

    def advance(self) -> None:
        """One more action."""
        self.tick = next_tick(self.tick)

    def require(self, *phases: Phase) -> None:
        self._phases.require(*phases)

    def enter(self, phase: Phase) -> None:
        if phase != self.phase:
            self._phases.enter(phase)
            self.report(Entered(self.tick, phase))

    def report(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)

    def report_reached(self, standing: Standing) -> None:
        """After an action: how far the operator is."""
        if self._listener is not None:
            resident_bytes = tuple(tuple(row) for row in standing.resident_bytes.tolist())
            self._listener(Reached(self.tick, standing.results, resident_bytes))

    def exclusively(self, work: Iterator[R]) -> Iterator[R]:
        """The results of one call, which must be read to their end before the next."""
        self.require_idle()
        self._busy = True
        try:
            yield from work
        except BudgetTooSmall:  # found out before anything was taken in
            self._busy = False
            raise
        except Exception as error:
            self._failure = error
            raise
        self._busy = False

    def require_idle(self) -> None:
        if self._failure is not None:
            reason = f"{type(self._failure).__name__}: {self._failure}"
            raise RuntimeError(f"The last call failed in the middle ({reason}); go on from the last snapshot.")
        if self._busy:
            raise RuntimeError("The results of the last call were not read to their end; read them first.")

    def interrupt(self) -> None:
        """Let whatever is being done end soon, with `Interrupted`; from any thread."""
        self._interrupted = True

    def breathe(self) -> None:
        """Called again and again in the middle of work."""
        if self._interrupted:
            raise Interrupted

    def to_plain(self) -> dict[str, Any]:
        return {"tick": self.tick, "phase": self.phase}

    def load_plain(self, data: dict[str, Any]) -> None:
        self.tick = index(data["tick"])
        self._phases = Phases((data["phase"],))
