"""Tasks that decide rows: whether they match at all, and so whether they come out by themselves.

It is certain of a row once the other side has ended and all of it in the row's range of codes was looked at: when
nothing arrives any more, or before, when one side has ended. In a join that gives no pairs it is also certain as soon
as a left row has a match, which is all that it takes.
"""

from abc import ABC
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sooner.kernels.array_types import Flags
from sooner.operators.deciding.examining import Examination
from sooner.operators.deciding.expiry import Expiry
from sooner.operators.events import Merged
from sooner.operators.state.state import LEAVING_SHARE, JoinState
from sooner.operators.sweeping.parts import PartRectangle
from sooner.operators.sweeping.sweep import Examined
from sooner.operators.tasks.parts import Begun, Parts
from sooner.operators.tasks.task import Rest
from sooner.operators.tasks.writing import Writing
from sooner.runs.run import Run
from sooner.sides import LEFT, RIGHT, SIDES, opposite


class Deciding(Rest, ABC):
    """Covers all that is open on its way."""

    def _examination(self, parts: Parts, side: int) -> Examination:
        """Of the rows of a side that were there at the begin, and are not decided yet: the other side has ended."""
        state, p, kind = self._state, self.partition, self._state.kind
        undecided = [number for number in self._begun.runs[side] if number not in state.decided_runs[side][p]]
        return Examination(
            side,
            replace(parts.rows(side), on_disk=parts.on_disk(side, undecided)),
            parts.rows(opposite(side)),
            state.existence,
            gives="matched" if kind.matched else "unmatched",
            after=state.decided[side][p],
            until=self._begun.tick,
            is_known_in_memory=state.ledger.is_known_in_memory(side, p),
            meant=_undecided(state, side, p),
        )


class CleanUp(Deciding):
    """All that has not met in one partition, when nothing arrives any more: then its rows are forgotten."""

    kind = "clean-up"

    def _examined(self, parts: Parts) -> Sequence[Examined]:
        return [self._examination(parts, side) for side in self._state.kind.examined]

    def finish(self) -> None:
        """Its memory and its files are free. If rows have left memory since it began it begins anew: they are open."""
        super().finish()
        for side in self._state.kind.examined:
            self._state.decided[side][self.partition] = self._begun.tick
        if self._state.kind.pairs and self._state.ledger.is_open(self.partition):
            self._begin_anew()
        else:
            self._state.forget(self.partition)


class Parting(Deciding):
    """All that has not met in one partition, when one side has ended: what was there of the other is decided then, and
    nobody needs it any more.
    """

    kind = "parting"

    def __init__(self, state: JoinState, begun: Begun, open_pairs: float, side: int, undecided_rows: int) -> None:
        super().__init__(state, begun, open_pairs)
        self._side = side
        self._undecided_rows = undecided_rows  # at the begin

    def _examined(self, parts: Parts) -> Sequence[Examined]:
        return [self._examination(parts, self._side)]

    def finish(self) -> None:
        """If rows of the ended side have left memory since it began, it begins anew: they may be open."""
        super().finish()
        state, p, side, tick = self._state, self.partition, self._side, self._begun.tick
        state.decided[side][p] = tick
        state.statistics.undecided_rows[side, p] -= self._undecided_rows
        if not self._may_forget():
            state.decided_runs[side][p].update(self._begun.runs[side])
            return
        others = [run.number for run in state.spilled(opposite(side), p)]
        rectangle = (self._begun.runs[side], others) if side == LEFT else (others, self._begun.runs[side])
        if state.kind.pairs and state.ledger.cells[p].open_rectangles(*rectangle):
            self._begin_anew()
            self._undecided_rows = int(state.statistics.undecided_rows[side, p])
        else:
            state.forget_rows(side, p, self._begun.runs[side], tick)

    def _may_forget(self) -> bool:
        """Rows of the other side that come out without a match must not lose what they match: that is noted of rows in
        memory alone, when both are there.
        """
        if opposite(self._side) not in self._state.kind.unmatched:
            return True
        return self._state.ledger.is_known_in_memory(self._side, self.partition) and not self._begun.runs[self._side]

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"side": self._side, "undecided_rows": self._undecided_rows}


class Forget(Deciding):
    """Rows of one partition that nothing will match any more: all that is open meets, what is dead comes out if that is
    wanted, and then nobody needs it. Done in one go: rows that left memory meanwhile would have to be told apart.
    """

    kind = "forget"

    def __init__(self, state: JoinState, begun: Begun, open_pairs: float, expiry: Expiry) -> None:
        super().__init__(state, begun, open_pairs)
        self._expiry = expiry
        self._dead = [expiry.dead_below(side) for side in SIDES]

    def _examined(self, parts: Parts) -> Sequence[Examined]:
        return [self._dying(parts, side) for side in self._state.kind.examined]

    def _dying(self, parts: Parts, side: int) -> Examination:
        meant = partial(self._expiry.dying, side, self.partition, self._dead[side])
        return replace(self._examination(parts, side), meant=meant)

    def finish(self) -> None:
        """What is gone leaves memory if it is much, and the disk where a whole run is."""
        if self._state.kind.pairs:
            super().finish()
        self._expiry.note_decided(self.partition, self._dead, self._begun.tick)
        for side in SIDES:
            self._state.let_gone_go(side, self.partition, at_least=LEAVING_SHARE)
            self._state.let_gone_runs_go(side, self.partition)


class Winnow(Writing):
    """Left rows of a partition that match anything come out or not, and leave the disk: those that do not are written
    anew, as one run. For joins that give no pairs, in which a left row has done its part with its first match.
    """

    kind = "winnow"
    looks_at = SIDES

    def _rectangles(self, parts: Parts) -> list[PartRectangle]:  # noqa: ARG002 - there are no pairs to find
        return []

    def _examined(self, parts: Parts) -> Sequence[Examined]:
        """What has left memory since the begin is not touched: it would have to be written anew as well."""
        lefts = self._begun.runs[LEFT]
        return [
            Examination(
                LEFT,
                replace(parts.rows(LEFT), since=()),
                parts.rows(RIGHT),
                self._state.existence,
                gives="matched" if self._state.kind.matched else "nothing",
                is_known_in_memory=self._state.ledger.is_known_in_memory(LEFT, self.partition),
                survivors=self._open_output(parts, LEFT, lefts) if lefts else None,
                meant=_undecided(self._state, LEFT, self.partition),
            )
        ]

    def finish(self) -> None:
        """What was there at the begin has met."""
        self.pause()
        state, p, tick, lefts = self._state, self.partition, self._begun.tick, self._begun.runs[LEFT]
        read = [run for side in SIDES for run in self._read_runs(side)]
        read_bytes = sum(run.n_bytes for run in read)
        state.met_as_whole(p, self._begun.runs, tick)
        if lefts:
            self._become_one(LEFT, lefts, 1 + max(run.level for run in self._read_runs(LEFT)))
        state.statistics.met_as_whole(p, tick, self._open_pairs, self._begun.rows)
        state.shell.report(Merged(tick, p, len(read), read_bytes, self._written_bytes, (self._begun.runs,), "winnow"))


def _undecided(state: JoinState, side: int, p: int) -> Callable[[Run], Flags] | None:
    """Which rows are to be examined, where some have been decided before their side's end."""
    return None if state.expiry is None else partial(state.expiry.undecided, side, p)
