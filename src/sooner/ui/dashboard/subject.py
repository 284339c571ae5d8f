"""What a dashboard can show: the contract between what runs, or ran, and the server."""

from typing import Any, Final, Protocol

from sooner.errors import SoonerError
from sooner.ui.dashboard.series import Known

DONE: Final = "The query is done."
STOPPED: Final = "The query ended before it was done."


class Refused(SoonerError):  # noqa: N818 - the page shows the sentence
    """What the page asked for cannot be done."""


class Subject(Protocol):
    """Asked from threads of the server, any number of them."""

    def about(self) -> dict[str, Any]:
        """What does not change: title, inputs, memory, what may be asked of it."""
        ...

    def news(self, known: Known) -> dict[str, Any]:
        """The present state, and what somebody lacks of the curves."""
        ...

    def over(self) -> str:
        """How it ended, in a sentence; nothing as long as it goes on."""
        ...

    def stop(self) -> None:
        """End it now. Raises Refused if there is nothing to stop."""
        ...

    def finish(self, name: str) -> None:
        """This input has no more rows. Raises Refused if it has no such."""
        ...

    def metrics(self) -> str:
        """Numbers in the text format of Prometheus."""
        ...
