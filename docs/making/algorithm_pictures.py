"""Pictures for the pages of algorithms: each algorithm joins the same rows with the same little memory, call by call.

python docs/making/algorithm_pictures.py docs/algorithms [NAME ...]

No clock and no thread takes part, so the same code draws the same pictures. A picture has the rectangle of all pairs
when the last row has come, coloured by how they have met, and results over time beside it, with silences in grey. Of
more than two inputs, and of a stream and a master table, there are curves alone.
"""

import base64
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow.fs import LocalFileSystem

from sooner.asked.multijoins import plan_of
from sooner.budget import Budget
from sooner.lab.kept_runs import KeptRuns
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.enrich.plan import EnrichPlan, MannerName
from sooner.operators.events import Event
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.ports import Doors
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.policies.view import BUSY, SILENT, Surroundings
from sooner.runs.formats.files import RunFiles
from sooner.runs.store import RunStore
from sooner.trace import Entry, TraceHeader
from sooner.ui.dashboard.picture import Picture
from sooner.ui.dashboard.rectangle import HOW

STEPS: Final = 120
SILENCES: Final = (range(40, 52), range(80, 92))  # in which no row comes
ROWS_AT_ONCE: Final = 60
KEYS: Final = 300
CHAIN_KEYS: Final = 3_000
MEMORY_SHARE: Final = 5  # of all rows, one part in so many fits
ROW_BYTES: Final = 28
QUANTUM_BYTES: Final = 4_000
CALLS_IN_A_STEP: Final = 4
PARTITIONS: Final = 8

SIDE, TOP, LEFT, GAP, WIDTH = 208, 30, 14, 56, 330
COLORS: Final = ("#3b78c4", "#e0862f", "#2f9e63", "#c4569a")  # as the dashboard has them: by HOW
OPEN: Final = "#8a8f98"
STRENGTHS: Final = 4
STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#5b616b}.small{font-size:10px}.axis{stroke:#8a8f98}"
    ".silent{fill:#8a8f98;opacity:.16}.own{stroke:#0e8f9b;stroke-width:2.4}.rival{stroke:#d1653c;stroke-width:1.8}"
    ".waits{stroke:#8a8f98;stroke-dasharray:5 4}path{fill:none}@media(prefers-color-scheme:dark){text{fill:#b4bac4}}"
)

FOLDERS: Final[list[tempfile.TemporaryDirectory[str]]] = []  # gone at the end
Batches = Sequence[pa.RecordBatch]


@dataclass
class Seen:
    """What happened: events with the step in which they did, and after each step how many results there were."""

    events: list[tuple[int, Event]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    total: int = 0


def run(plan: Any, arrivals: Sequence[Sequence[Batches]], memory_bytes: int, master: Batches = ()) -> Seen:
    """All steps, and then the end; a master table is there before them, and is the last input."""
    streams = zip(*arrivals, strict=True)
    schemas = [next(batches[0].schema for batches in stream if batches) for stream in streams]
    schemas += [master[0].schema] if master else []
    seen, step = Seen(), 0
    means = Means(
        Budget(memory_bytes).account("the operator"), listener=lambda event: seen.events.append((step, event))
    )
    names = ["left", "right"] if len(schemas) == 2 else list("ABCD"[: len(schemas)])
    operator = plan.make(names, schemas, Storage(PARTITIONS, _store(bool(master))), means)
    doors = Doors(operator, [deque() for _ in schemas])
    ended = [bool(master) and which == len(schemas) - 1 for which in range(len(schemas))]

    def count(results: Iterator[pa.RecordBatch]) -> None:
        seen.total += sum(rows.num_rows for rows in results)

    def work(around: Surroundings, calls: int) -> None:
        for _ in range(calls):
            if operator.phase == "done" or not operator.has_work(around):
                return
            count(operator.work(QUANTUM_BYTES, around))

    for piece in master:
        count(doors.arrive([*([] for _ in schemas[1:]), [piece]], 0.0))
    if master:
        count(doors.look(ended, 0.0))
        work(SILENT, 10**6)
    for step, batches in enumerate(arrivals):
        count(doors.arrive([*batches, *([] for _ in schemas[len(batches) :])], step / 10))
        count(doors.look(ended, step / 10))
        work(BUSY if any(batches) else SILENT, CALLS_IN_A_STEP)
        seen.results.append(seen.total)
    count(doors.look([True] * len(schemas), STEPS / 10))
    while operator.phase != "done":
        count(operator.work(QUANTUM_BYTES, SILENT))
        count(doors.look([True] * len(schemas), STEPS / 10))
    return seen


def _store(in_blocks: bool) -> Callable[[pa.Schema], RunStore]:
    """A scan goes block by block, which runs that are kept in memory do not have."""
    if not in_blocks:
        return lambda _: KeptRuns()
    folder = tempfile.TemporaryDirectory()
    FOLDERS.append(folder)
    return lambda schema: RunFiles(LocalFileSystem(), folder.name, schema, QUANTUM_BYTES)


def is_silent(step: int) -> bool:
    return any(step in silence for silence in SILENCES)


def two_inputs() -> list[list[Batches]]:
    """Few keys have many rows, and the means of both sides move, so that there is something to choose."""
    dice, arrivals = np.random.default_rng(7), []
    for step in range(STEPS):
        middles = (0.25 + 0.5 * step / STEPS, 0.35 + 0.3 * step / STEPS)
        keys = [np.clip(dice.normal(middle, 0.16, ROWS_AT_ONCE), 0, 0.999) * KEYS for middle in middles]
        arrivals.append([[] if is_silent(step) else [batch(key=some.astype(np.int64))] for some in keys])
    return arrivals


def chain() -> list[list[Batches]]:
    """Three inputs: the first and the last have each key of the middle one a few times."""
    dice, arrivals = np.random.default_rng(8), []
    for step in range(STEPS):
        a, c = (np.floor(CHAIN_KEYS * dice.random(ROWS_AT_ONCE) ** 2).astype(np.int64) for _ in range(2))
        b, d = (np.floor(CHAIN_KEYS * dice.random(ROWS_AT_ONCE) ** 2).astype(np.int64) for _ in range(2))
        rows = [batch(a=a), batch(a=b, c=d), batch(c=c)]
        arrivals.append([[] if is_silent(step) else [one] for one in rows])
    return arrivals


def stream_and_master() -> tuple[list[list[Batches]], Batches]:
    dice, n_keys = np.random.default_rng(9), 40 * KEYS
    keys = [np.minimum(dice.zipf(1.4, ROWS_AT_ONCE), n_keys - 1).astype(np.int64) for _ in range(STEPS)]
    pieces = np.split(np.arange(n_keys), 40)
    return [[[batch(key=some)]] for some in keys], [batch(key=some) for some in pieces]


def batch(**columns: Any) -> pa.RecordBatch:
    rows = len(next(iter(columns.values())))
    return pa.record_batch({**columns, "row": np.arange(rows)})


def memory_of(arrivals: Sequence[Sequence[Batches]]) -> int:
    rows = sum(one.num_rows for step in arrivals for batches in step for one in batches)
    return rows * ROW_BYTES // MEMORY_SHARE


# What is drawn


def two_way_picture(name: str) -> str:
    arrivals = two_inputs()
    plan = TwoWayPlan(("key",), ("key",), ("_left", "_right"), ALGORITHMS[name])
    seen = run(plan, arrivals, 10**9 if name == "symmetric_hash" else memory_of(arrivals))
    picture = Picture(TraceHeader("a join", "", 0.0, [str(plan)], ["left", "right"]), followed=PARTITIONS)
    for step, event in seen.events:
        if step == STEPS - 1 and type(event).__name__ == "Entered":
            break
        picture.note(Entry(float(step), event))
    [rectangle] = picture.to_plain()["rectangles"]
    drawn = [*_rectangle(rectangle), *_curves({"own": seen}, LEFT + SIDE + GAP, with_batch_join=True)]
    return _svg(LEFT + SIDE + GAP + WIDTH + 10, drawn)


def curves_picture(seen: dict[str, Seen], *legend: str, silences: bool = True) -> str:
    return _svg(LEFT + 40 + WIDTH + 190, [*_curves(seen, LEFT + 40, silences=silences), *_legend(legend)])


def _rectangle(plain: dict[str, Any]) -> Iterator[str]:
    """Pairs of places are drawn as one, in some strengths, each with all of its places in one path."""
    places = plain["places"]
    met = np.frombuffer(base64.b64decode(plain["met"]), np.uint8).reshape(len(HOW), places, places) / 255
    used = [int(np.ceil(rows / width / 2)) for rows, width in zip(plain["rows"], plain["width"], strict=True)]
    halved = met.reshape(len(HOW), places // 2, 2, places // 2, 2).mean(axis=(2, 4))
    cell = SIDE / max(used)
    yield f'<text x="{LEFT}" y="18">pairs, when the last row has come</text>'
    yield f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="{OPEN}" opacity=".22"/>'
    for how, color in enumerate(COLORS):
        strengths = np.rint(halved[how] * STRENGTHS).astype(int)
        for strength in range(1, STRENGTHS + 1):
            drawn = "".join(
                f"M{LEFT + x * cell:.1f} {TOP + SIDE - (y + 1) * cell:.1f}h{cell:.1f}v{cell:.1f}h-{cell:.1f}z"
                for x, y in np.argwhere(strengths[: used[0], : used[1]] == strength)
            )
            if drawn:
                yield f'<path d="{drawn}" style="fill:{color}" opacity="{strength / STRENGTHS:.2f}"/>'
    shown = [(color, how) for color, how in zip(COLORS, HOW, strict=True) if how != "clean-up"]
    at = LEFT
    for color, how in [*shown, (OPEN, "open")]:
        yield f'<rect x="{at}" y="{TOP + SIDE + 12}" width="9" height="9" fill="{color}"/>'
        yield f'<text x="{at + 12}" y="{TOP + SIDE + 21}" class="small">{how}</text>'
        at += 24 + 5.6 * len(how)


def _curves(
    seen: dict[str, Seen], left: float, *, with_batch_join: bool = False, silences: bool = True
) -> Iterator[str]:
    height, total = SIDE, max(one.total for one in seen.values())
    x, y = (lambda step: left + WIDTH * step / STEPS), (lambda results: TOP + height * (1 - results / total))
    for silence in SILENCES if silences else ():
        width = x(len(silence)) - left
        yield f'<rect class="silent" x="{x(silence[0]):.1f}" y="{TOP}" width="{width:.1f}" height="{height}"/>'
    for name, one in seen.items():
        points = [f"{x(step + 1):.1f} {y(results):.1f}" for step, results in enumerate(one.results)]
        yield f'<path class="{name}" d="M{x(0):.1f} {y(0):.1f}L{"L".join(points)}"/>'
    if with_batch_join:
        yield f'<path class="waits" d="M{x(0):.1f} {y(0) - 1:.1f}H{x(STEPS) - 1:.1f}V{y(total):.1f}"/>'
    yield f'<path class="axis" d="M{left} {TOP}V{TOP + height}H{left + WIDTH}"/>'
    yield f'<text x="{left}" y="18">results out, 0 to 100% of {total:,}</text>'
    yield f'<text x="{left + WIDTH}" y="{TOP + height + 21}" text-anchor="end">rows arrive until here</text>'


def _legend(lines: Sequence[str]) -> Iterator[str]:
    left = LEFT + 40 + WIDTH + 14
    for at, (name, words) in enumerate(zip(("own", "rival"), lines, strict=False)):
        y = TOP + 20 + 24 * at
        yield f'<path class="{name}" d="M{left} {y}h22"/><text x="{left + 28}" y="{y + 4}">{words}</text>'


def _svg(width: float, drawn: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width:.0f} {TOP + SIDE + 32}" width="{width:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def many_inputs_picture(own: str, rival: str) -> str:
    return curves_picture({"own": of_many_inputs(own), "rival": of_many_inputs(rival)}, own, rival)


def look_up_picture(own: str, rival: str) -> str:
    return curves_picture({"own": of_look_ups(own), "rival": of_look_ups(rival)}, own, rival, silences=False)


@cache
def of_many_inputs(name: str) -> Seen:
    arrivals = chain()
    plan = plan_of({"A": None, "B": None, "C": None}, ["A.a = B.a", "B.c = C.c"], None, None, name)
    return run(plan, arrivals, memory_of(arrivals))


@cache
def of_look_ups(name: MannerName) -> Seen:
    arrivals, master = stream_and_master()
    plan = EnrichPlan(("key",), ("key",), ("_stream", "_master"), name)
    return run(plan, arrivals, memory_of([*arrivals, [master]]), master)


TWO_WAY: Final = (
    "xjoin", "hmj", "pmj", "rpj", "diner", "ripple", "hash_ripple", "sms", "dbo", "pr_join", "grace"
)  # fmt: skip
MANY: Final = (("miner", "mjoin"), ("mjoin", "miner"), ("agf", "state_spill"), ("state_spill", "agf"))
LOOK_UPS: Final = (("meshjoin", "ssbj"), ("ssbj", "meshjoin"))


DRAWN: Final[dict[str, Callable[[], str]]] = {
    **{name: partial(two_way_picture, name) for name in TWO_WAY},
    **{own: partial(many_inputs_picture, own, rival) for own, rival in MANY},
    **{own: partial(look_up_picture, own, rival) for own, rival in LOOK_UPS},
}


def main(folder: Path, *names: str) -> None:
    for name in names or DRAWN:
        (folder / f"{name}.svg").write_text(DRAWN[name]())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
