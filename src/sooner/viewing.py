"""The one way up: what runs may be asked for a view of itself.

Views are readers, in the rooms above; this loads the room of dashboards by its name when somebody asks for one.
"""

from importlib import import_module
from typing import Final, Protocol

OPENING: Final = "sooner.ui.dashboard.opening"
BAR: Final = "sooner.ui.query_bar"


class Dashboard(Protocol):
    """A page on this machine, at a link that nobody else can guess."""

    @property
    def url(self) -> str:
        """The link; it has a token."""
        ...

    def close(self) -> None:
        """Serve it no more. What it showed goes on."""
        ...

    def _repr_html_(self) -> str:
        """The link, as a notebook shows it."""
        ...


class Bar(Protocol):
    """A line that tells how far a query is."""

    def close(self) -> None:
        """Show what is true now, and no more."""
        ...


def progress_bar(query: object) -> Bar:
    """Show on the terminal, or in the notebook, how far a query in process is, until it ends."""
    shown: Bar = import_module(BAR).QueryBar(query)
    return shown


def dashboard(query: object) -> Dashboard:
    """Open a page that shows how a query goes, in process or on Spark. It is closed when the query ends.

    >>> import pyarrow as pa, sooner
    >>> query = sooner.join(pa.table({"k": [1, 2]}), pa.table({"k": [2, 3]}), on="k")
    >>> page = sooner.dashboard(query)  # page.url is the link
    >>> page.close()
    """
    opened: Dashboard = import_module(OPENING).open_dashboard(query)
    return opened
