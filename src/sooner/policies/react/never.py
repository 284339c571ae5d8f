"""Do nothing while the sources are silent; everything on disk waits for the clean-up (PMJ)."""

from sooner.policies.view import JoinView, Task


class Never:
    def choose(self, view: JoinView) -> Task | None:  # noqa: ARG002 - the contract
        return None
