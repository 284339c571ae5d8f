"""Flush nothing: a symmetric hash join (Wilschut and Apers, 1991), for inputs that fit in memory."""

from collections.abc import Iterable

from sooner.policies.view import Evict, JoinView


class Never:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Evict]:  # noqa: ARG002 - the contract
        return ()
