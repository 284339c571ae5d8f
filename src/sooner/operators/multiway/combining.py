"""Combinations of rows in memory, one of each input: what a row that arrives makes with all that is there.

From the input of the row it goes to the others one after the other, always by an attribute that a joined one has, and
to those first that match least (MINER, sec. 4.1). What counts is how many rows a probe meets, which is the paper's
selectivity times the rows in memory: by that much partial matches become more or fewer. A partial match is two numbers
for each input, and is gone when nothing matches it: nothing that does not become a result is kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.looking_up import found
from sooner.kernels.matching import Reach, matches
from sooner.kernels.sorting import Places, sort
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.comparing import reached
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.order import Order
from sooner.operators.pairs import PAIRS_AT_ONCE
from sooner.runs.run import Run
from sooner.runs.store import counts_of_each

FEW: Final = 16  # times as many rows as there are codes to look up: an index would not pay
HALVED_AT: Final = 2**40  # probes: older ones count less

Count = Callable[[Step, int, int], None]  # of a step: so many partial matches were looked up, and met so many rows
Combinations = Mapping[int, Places]  # by input: where its row is, in which run and at which position


class Combining:
    def __init__(self, graph: Graph, accesses: Sequence[Accesses], orders: Mapping[Step, Order]) -> None:
        """`orders` say of each step how codes of a match are apart, and what is looked at beside them."""
        self._graph = graph
        self._accesses = accesses
        self._orders = orders
        # [input][attribute]: partial matches that were looked up in an input by an attribute, and what they met
        self._probes, self._met = ([[0] * len(graph.attributes) for _ in graph.inputs] for _ in range(2))

    def of(self, which: int, run: Run, others: Sequence[Sequence[Run]]) -> Iterator[Combinations]:
        """All combinations of rows of this run with those of the other inputs, up to PAIRS_AT_ONCE at a time."""
        runs = [[run] if one == which else there for one, there in enumerate(others)]
        if all(runs):
            yield from self._grown(self.route([which]), runs, {which: Places(np.arange(len(run)))}, self._count)

    def prepared(self, which: int, others: Sequence[Sequence[Run]]) -> Callable[[Run], Iterator[Combinations]]:
        """The same for many runs: several threads may ask, and nothing is learnt from it."""
        route = self.route([which])
        for step in route:
            for run in others[step.input]:
                self._accesses[step.input].index_of(run, self._graph.of_input(step.input).index(step.attribute))

        def of(run: Run) -> Iterator[Combinations]:
            runs = [[run] if one == which else there for one, there in enumerate(others)]
            if all(runs):
                yield from self._grown(route, runs, {which: Places(np.arange(len(run)))}, _not_counted)

        return of

    def beyond(self, joined: Sequence[int], runs: Sequence[Sequence[Run]]) -> Iterator[Combinations]:
        """Rows of these inputs are joined already: those at one position of their only runs. With those of all others;
        nothing is learnt from it.
        """
        partial = {which: Places(np.arange(len(runs[which][0]))) for which in joined}
        if all(runs):
            yield from self._grown(self.route(joined), runs, partial, _not_counted)

    def reach(self, step: Step) -> Reach:
        """How far from the code of a parent's row those may be that match it."""
        return self._orders[step].reach

    def order(self, step: Step) -> Order:
        """How rows of a step are compared."""
        return self._orders[step]

    def route(self, joined: Sequence[int]) -> list[Step]:
        """From these inputs to all others, the most selective first; one never looked into may match anything. What was
        learnt says which those are, so it stays the same while nothing arrives.
        """
        route: list[Step] = []
        while steps := list(self._graph.next_steps([*joined, *(step.input for step in route)])):
            route.append(min(steps, key=lambda step: (self._fan_out(step), step.input)))
        return route

    def _fan_out(self, step: Step) -> float:
        probes = self._probes[step.input][step.attribute]
        return self._met[step.input][step.attribute] / probes if probes else float("inf")

    def _grown(
        self, route: Sequence[Step], runs: Sequence[Sequence[Run]], partial: Combinations, count: Count
    ) -> Iterator[Combinations]:
        if not route:
            yield partial
            return
        step, *rest = route
        some: list[Combinations] = []
        n_some = n_met = 0
        for grown in self._matched(step, runs, partial):
            n_met += len(grown[step.input].positions)
            n_some += len(grown[step.input].positions)
            some.append(grown)
            if n_some >= PAIRS_AT_ONCE:
                yield from self._grown(rest, runs, _together(some), count)
                some, n_some = [], 0
        count(step, len(partial[step.parent].positions), n_met)
        if some:
            yield from self._grown(rest, runs, _together(some), count)

    def _matched(self, step: Step, runs: Sequence[Sequence[Run]], partial: Combinations) -> Iterator[Combinations]:
        """These partial matches with the rows of one more input, a part of them at a time."""
        place_of_parent, place = (self._graph.of_input(one).index(step.attribute) for one in (step.parent, step.input))
        codes = self._accesses[step.parent].codes_at(partial[step.parent], runs[step.parent], place_of_parent)
        is_alone = len(runs[step.input]) == 1
        lowest, highest = reached(codes.min(), codes.max(), self.reach(step))
        for number, run in enumerate(runs[step.input]):
            in_order, order = self._accesses[step.input].of(run, place)
            if in_order[-1] < lowest or highest < in_order[0]:  # as with keys that come in order in both
                continue
            for whose, at in self._found(step, codes, run, place):
                where = at.copy() if order is None else order[at]  # what was found has room for many more
                whose, where = self._only_matching(step, runs[step.parent], partial[step.parent], run, whose, where)
                if len(whose):
                    parts = None if is_alone else np.full(len(where), number, np.int32)
                    yield {one: picked(places, whose) for one, places in partial.items()} | {
                        step.input: Places(where, parts)
                    }

    def _found(self, step: Step, codes: Codes, run: Run, place: int) -> Iterator[tuple[Positions, Positions]]:
        """Positions of codes, and where a run has such: many are looked up as they come, few in their order."""
        accesses, reach = self._accesses[step.input], self.reach(step)
        if len(codes) * FEW >= len(run) or accesses.has_index(run, place):
            yield from found(codes, None, accesses.index_of(run, place), PAIRS_AT_ONCE, reach)
            return
        in_order, positions = sort(codes)
        for at_code, at in matches(in_order, accesses.of(run, place).codes, PAIRS_AT_ONCE, reach):
            yield positions[at_code], at

    def _only_matching(
        self, step: Step, parents: Sequence[Run], places: Places, run: Run, whose: Positions, where: Positions
    ) -> tuple[Positions, Positions]:
        """Without what has codes of a match, and does not match."""
        only_matching = self._orders[step].only_matching
        if only_matching is None:
            return whose, where
        place = self._graph.of_input(step.parent).index(step.attribute)
        parent = self._accesses[step.parent].compared_at(picked(places, whose), parents, place)
        kept, where = only_matching(parent, run.columns, np.arange(len(whose)), where)
        return whose[kept], where

    def _count(self, step: Step, probes: int, met: int) -> None:
        which, at = step.input, step.attribute
        self._probes[which][at] += probes
        self._met[which][at] += met
        if self._probes[which][at] > HALVED_AT:
            self._probes[which][at] //= 2
            self._met[which][at] //= 2

    def to_plain(self) -> dict[str, Any]:
        return {"probes": self._probes, "met": self._met}

    def load_plain(self, data: dict[str, Any]) -> None:
        n_attributes = len(self._graph.attributes)
        for name, counts in (("probes", self._probes), ("met", self._met)):
            counts[:] = [counts_of_each(saved, n_attributes) for saved, _ in zip(data[name], counts, strict=True)]


def _not_counted(step: Step, probes: int, met: int) -> None:
    pass


def picked(places: Places, at: Positions) -> Places:
    """Some of these places; nothing is copied of those that lie together."""
    first, last = int(at[0]), int(at[-1])
    lie_together = last - first == len(at) - 1 and bool((at[1:] > at[:-1]).all())
    some = slice(first, last + 1) if lie_together else at
    return Places(places.positions[some], None if places.parts is None else places.parts[some])


def _together(some: Sequence[Combinations]) -> Combinations:
    if len(some) == 1:
        return some[0]
    return {
        which: Places(
            np.concatenate([one[which].positions for one in some]),
            None if first.parts is None else np.concatenate([one[which].parts for one in some]),
        )
        for which, first in some[0].items()
    }
