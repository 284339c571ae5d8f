"""Several runs beside each other, as a dashboard shows them: kept traces of one workload, or the races of the lab."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from sooner.errors import InvalidCall
from sooner.plain_text import plain_text
from sooner.ui.dashboard.picture import algorithm_of
from sooner.ui.dashboard.recorded import RecordedQuery
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.subject import Refused

CURVES: Final = {"seconds": "seconds", "results": "results", "memory": "memory_bytes"}  # here, and in a report
BOUND: Final = "clairvoyant"  # the race of a flush policy that knows what will come


class Comparison:
    def __init__(self, title: str, runs: Sequence[Mapping[str, Any]], summary: str = "") -> None:
        self._about = {"title": title, "summary": summary, "runs": runs}

    @staticmethod
    def of_traces(runs: Sequence[RecordedQuery]) -> "Comparison":
        return Comparison(f"{len(runs)} runs", [_run(run) for run in runs])

    @staticmethod
    def of_report(path: Path) -> "Comparison":
        """Of what `sooner lab run --json` or `sooner lab compare --json` wrote."""
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            races = {name: one for name, one in report["series"].items() if {*CURVES.values()} <= one.keys()}
            runs = [_race(name, races) for name in races]
            seeds = "; what is shown is of the first seed" if len(report["seeds"]) > 1 else ""
            title, summary = f"{report['name']}: {report['title']}", f"{report['machine']}{seeds}"
        except (ValueError, KeyError, TypeError, AttributeError):
            runs = []
        if not runs:
            raise InvalidCall(
                f"{path} has no races in it; give what `sooner lab run --json` wrote of joins, or a trace."
            )
        return Comparison(plain_text(title), runs, plain_text(summary))

    def about(self) -> dict[str, Any]:
        return self._about

    def news(self, known: Known) -> dict[str, Any]:  # noqa: ARG002 - the contract
        return {"series": {"columns": [], "from": 0, "rows": []}, "state": {}}

    def over(self) -> str:
        return "runs that are over"

    def stop(self) -> NoReturn:
        raise Refused("They are over: this page compares what was kept.")

    def finish(self, name: str) -> NoReturn:
        raise Refused(f"They are over: this page compares what was kept; {name!r} has ended.")

    def metrics(self) -> str:
        return ""


def _run(run: RecordedQuery) -> dict[str, Any]:
    algorithm, _ = algorithm_of(run.picture.header)
    name = f"{algorithm} ({plain_text(run.path.name)})" if algorithm else plain_text(run.path.name)
    early = run.early_results / run.picture.results if run.picture.results else None
    return {"name": name, "series": run.picture.news(Known()), "state": run.frames[-1], "early": early}


def _race(name: str, races: Mapping[str, Any]) -> dict[str, Any]:
    one, bound = races[name], _bound_of(name, races)
    results, early = one["total_results"], one["early_results"]
    return {
        "name": plain_text(name),
        "series": {"columns": list(CURVES), "rows": list(zip(*(one[curve] for curve in CURVES.values()), strict=True))},
        "state": {"results": results, "disk": None, "rectangles": []},
        "early": early / results if results else None,
        "of_bound": early / bound if bound else None,
    }


def _bound_of(name: str, races: Mapping[str, Any]) -> int | None:
    """Early results of the bound in the same setting: "clairvoyant, 20%" is that of "miner, 2 inputs, 20%"."""
    settings = [one.removeprefix(BOUND) for one in races if one.startswith(BOUND)]
    fitting = [setting for setting in settings if name.endswith(setting)]
    return int(races[BOUND + max(fitting, key=len)]["early_results"]) if fitting else None
