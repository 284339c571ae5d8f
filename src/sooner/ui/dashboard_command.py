"""The command `sooner dashboard`: the page of a trace, of several, or of a state."""

import argparse
import webbrowser
from pathlib import Path
from typing import Final

from sooner.errors import InvalidCall
from sooner.ui.dashboard.comparing import Comparison
from sooner.ui.dashboard.recorded import RecordedQuery, is_trace
from sooner.ui.dashboard.server import Server
from sooner.ui.dashboard.subject import Subject
from sooner.ui.numbers import whole_number

MOST_PORT: Final = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "places",
        nargs="+",
        metavar="TRACE",
        help="what trace= wrote, a file or a folder; several are compared; a report that `sooner lab run --json` "
        "wrote; or the state of a join on Spark",
    )
    parser.add_argument("--port", type=whole_number, default=0, help="of the page (default: any that is free)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.port > MOST_PORT:
        raise InvalidCall(f"--port {options.port} is no port; give a number up to {MOST_PORT:,}, or leave it out.")
    subject = subject_of(options.places)
    try:
        page = Server(subject, options.port)
    except OSError as error:
        raise InvalidCall(f"--port {options.port} is not to be had: {error.strerror}; leave it out for any.") from error
    try:
        print(f"{page.url}\nCtrl-C ends it.", flush=True)
        if options.open:
            webbrowser.open(page.url)
        page.wait()
    except KeyboardInterrupt:
        pass
    finally:
        page.close()
    return 0


def subject_of(places: list[str]) -> Subject:
    """What there is at these places: traces, a report of the lab, or one state."""
    if len(places) == 1 and not is_trace(Path(places[0])):
        if "://" not in places[0] and not Path(places[0]).exists():
            raise InvalidCall(f"there is neither a trace nor a state at {places[0]}; give what trace= or state= named.")
        from sooner.ui.dashboard.on_spark import StateOnSpark  # here, because it loads Spark

        return StateOnSpark(places[0])
    if len(places) == 1 and Path(places[0]).suffix == ".json":
        return Comparison.of_report(Path(places[0]))
    missing = next((place for place in places if not Path(place).exists()), None)
    if missing is not None:
        raise InvalidCall(f"there is no trace at {missing}; give what trace= named.")
    traces = [RecordedQuery(Path(place)) for place in places]
    return traces[0] if len(traces) == 1 else Comparison.of_traces(traces)
