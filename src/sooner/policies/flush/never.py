"""Flush nothing: a symmetric hash join (Wilschut and Apers, 1991), for inputs that fit in memory."""

from collections.abc import Iterable

from sooner.policies.view import JoinView, Together


class Never:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        return ()
