"""The phases of a join, and which may follow which, as data."""

from typing import Final, Literal

from sooner.errors import PhaseError

Phase = Literal["arriving", "reactive", "clean-up", "done"]

NEXT: Final[dict[Phase, tuple[Phase, ...]]] = {
    "arriving": ("reactive", "clean-up"),  # joining what arrives with what is in memory
    "reactive": ("arriving", "clean-up"),  # the sources are silent: using what is on disk
    "clean-up": ("done",),  # everything has arrived: covering the rest
    "done": (),
}


class Phases:
    def __init__(self, history: tuple[Phase, ...] = ("arriving",)) -> None:
        if history[-1] not in NEXT:
            raise PhaseError(f"A join is never {history[-1]!r}.")
        self._history = list(history)
        self.now = history[-1]

    def enter(self, phase: Phase) -> None:
        if phase == self.now:
            return
        if phase not in NEXT[self.now]:
            raise PhaseError(f"A join cannot go from {self.now} to {phase}; it went through: {self._recent()}.")
        self._history.append(phase)
        self.now = phase
        del self._history[:-20]  # enough to explain a mistake, and no more for an endless stream

    def require(self, *allowed: Phase) -> None:
        if self.now not in allowed:
            raise PhaseError(f"The join is {self.now}, not {' or '.join(allowed)}; it went through: {self._recent()}.")

    def _recent(self) -> str:
        return " -> ".join(self._history)
