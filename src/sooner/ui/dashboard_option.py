"""`--dashboard` of the commands that run a query. The page and its server are loaded if it is given."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sooner.viewing import dashboard


def add_dashboard_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dashboard", action="store_true", help="show a page of how it goes, at the link it prints")


@contextmanager
def shown(query: object, options: argparse.Namespace) -> Iterator[None]:
    """The link to the query's page on standard error, if it was asked for."""
    if not options.dashboard:
        yield
        return
    page = dashboard(query)
    print(f"dashboard: {page.url}", file=sys.stderr)
    try:
        yield
    finally:
        page.close()
