"""Several traces beside each other, as a dashboard shows them: the algorithms of one workload, say."""

from collections.abc import Sequence
from typing import Any, NoReturn

from sooner.plain_text import plain_text
from sooner.ui.dashboard.picture import algorithm_of
from sooner.ui.dashboard.recorded import RecordedQuery
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.subject import Refused


class Comparison:
    def __init__(self, runs: Sequence[RecordedQuery]) -> None:
        self._runs = runs

    def about(self) -> dict[str, Any]:
        return {"title": f"{len(self._runs)} runs", "runs": [_run(run) for run in self._runs]}

    def news(self, known: Known) -> dict[str, Any]:
        return {"series": self._runs[0].picture.news(known), "state": {}}

    def over(self) -> str:
        return "traces that were kept"

    def stop(self) -> NoReturn:
        raise Refused("They are over: these are traces that were kept.")

    def finish(self, name: str) -> NoReturn:
        raise Refused(f"They are over: these are traces that were kept; {name!r} has ended.")

    def metrics(self) -> str:
        return ""


def _run(run: RecordedQuery) -> dict[str, Any]:
    algorithm, _ = algorithm_of(run.picture.header)
    name = f"{algorithm} ({plain_text(run.path.name)})" if algorithm else plain_text(run.path.name)
    early = run.early_results / run.picture.results if run.picture.results else None
    return {"name": name, "series": run.picture.news(Known()), "state": run.frames[-1], "early": early}
