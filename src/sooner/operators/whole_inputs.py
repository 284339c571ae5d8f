"""Statistics of operators whose inputs have one partition each: they are counted from what is there."""

from collections.abc import Sequence
from typing import Final

from sooner.operators.inputs import Input
from sooner.operators.statistics.arrivals import Statistics, read_only
from sooner.policies.view import Surroundings, View

UNSEEN: Final = ("received_rows", "forgotten_rows")  # by policies


def count_whole(statistics: Statistics, inputs: Sequence[Input]) -> None:
    """Follow what is in memory and on disk of each input."""
    count_in_memory(statistics, inputs)
    for which, one in enumerate(inputs):
        statistics.count_spilled(which, 0, one.partitions[0].spilled)


def count_in_memory(statistics: Statistics, inputs: Sequence[Input]) -> None:
    for which, one in enumerate(inputs):
        [partition] = one.partitions
        statistics.count_resident(which, 0, partition.resident.n_rows, partition.resident.n_bytes)


def view_of(statistics: Statistics, inputs: Sequence[Input], tick: int, around: Surroundings) -> View:
    """What policies see."""
    counts = {name: read_only(getattr(statistics, name)) for name in Statistics.SAVED if name not in UNSEEN}
    ended = tuple(one.ended for one in inputs)
    return View(tick=tick, ended=ended, around=around, recent_rows=statistics.recent.rows, **counts)
