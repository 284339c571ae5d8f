"""Progress as text for Prometheus: one number a line, with what it is of."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, get_args

from sooner.phases import Phase
from sooner.progress import Progress

PREFIX: Final = "sooner_"

Sample = tuple[str, float]  # its labels, and a value


def metrics_of(progress: Progress | None, inputs: Sequence[str], expected: Sequence[int | None] = ()) -> str:
    """All there is to say; nothing before there is progress."""
    return "" if progress is None else "".join(_lines(progress, inputs, expected))


def _lines(progress: Progress, inputs: Sequence[str], expected: Sequence[int | None]) -> Iterator[str]:
    def of_inputs(values: Iterable[float | None]) -> list[Sample]:
        named = zip(inputs, values, strict=False)
        return [(f'{{input="{_escaped(name)}"}}', value) for name, value in named if value is not None]

    yield from _metric("rows_total", "counter", "Rows that have arrived.", of_inputs(progress.arrived_rows))
    yield from _metric("rows_expected", "gauge", "Rows that there are, where that is known.", of_inputs(expected))
    yield from _metric("rows_late_total", "counter", "Rows that came too late.", of_inputs(progress.late_rows))
    forgotten = of_inputs(progress.forgotten_rows_by_side)
    yield from _metric("rows_forgotten_total", "counter", "Rows that nobody needs any more.", forgotten)
    yield from _metric("rows_in_memory", "gauge", "Rows in memory.", of_inputs(progress.resident_rows_by_side))
    yield from _metric("rows_on_disk", "gauge", "Rows on disk.", of_inputs(progress.spilled_rows_by_side))
    for name, kind, help_text, value in (
        ("results_total", "counter", "Results.", progress.results),
        ("memory_bytes", "gauge", "Bytes of rows in memory.", progress.resident_bytes),
        ("memory_peak_bytes", "gauge", "The most there ever were.", progress.peak_bytes),
        ("disk_bytes", "gauge", "Bytes of rows on disk.", progress.spilled_bytes),
        ("covered_ratio", "gauge", "Share of the pairs of arrived rows that have met.", progress.covered_fraction),
        ("rows_waiting", "gauge", "Stream rows that have not met all of the master.", progress.waiting_rows),
    ):
        yield from _metric(name, kind, help_text, [("", value)])
    phases = [(f'{{phase="{phase}"}}', float(phase == progress.phase)) for phase in get_args(Phase)]
    yield from _metric("phase", "gauge", "1 for the present phase.", phases)


def _metric(name: str, kind: str, help_text: str, samples: Sequence[Sample]) -> Iterator[str]:
    if samples:
        yield f"# HELP {PREFIX}{name} {help_text}\n# TYPE {PREFIX}{name} {kind}\n"
        yield from (f"{PREFIX}{name}{labels} {value}\n" for labels, value in samples)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
