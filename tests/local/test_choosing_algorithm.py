"""`algorithm="auto"`: which algorithm is right by what is known, that it is said why, and that it is what runs."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import sooner
from queries import join_rows, nested_loop, numbered
from sooner.asked.choosing_algorithm import Known, bytes_of_all, choose
from sooner.errors import InvalidJoin
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.events import Flushed
from sooner.operators.folding.join import require_sampling
from sooner.policies.flush.largest import Largest
from sooner.policies.react.merge import Merge
from sooner.sources import Fixed, paced
from sooner.trace import read_whole_trace

LEFT, RIGHT = numbered(8000, name="a", seed=1), numbered(8000, name="b", seed=2)  # 438 KB in memory
LITTLE, PLENTY = "256KB", "64MB"
MINE = Algorithm("mine", Largest(), Merge())
EARLY = "algorithm: rpj, since how much comes and when is not known"


@pytest.mark.parametrize(
    ("known", "name"),
    [
        (Known(), "rpj"),
        (Known(memory_bytes=1), "rpj"),
        (Known(resting_bytes=1000, memory_bytes=1000), "rpj"),
        (Known(resting_bytes=1001, memory_bytes=1000), "hmj"),
        (Known(resting_bytes=0), "rpj"),
        (Known(is_estimate=True), "pr_join"),
        (Known(is_estimate=True, resting_bytes=1001, memory_bytes=1000), "pr_join"),
        (Known(of_state="xjoin", resting_bytes=1001, memory_bytes=1000), "xjoin"),
        (Known(of_state="grace", is_estimate=True), "grace"),
        (Known(of_state="somebody's own"), "rpj"),
    ],
)
def test_the_right_one_follows_from_what_is_known(known: Known, name: str) -> None:
    choice = choose("auto", known)
    assert choice.algorithm is ALGORITHMS[name]
    (note,) = choice.notes
    assert note.startswith(f"algorithm: {name}, since ")


def test_what_is_asked_for_is_what_comes_whatever_is_known() -> None:
    known = Known(is_estimate=True, of_state="hmj", resting_bytes=1001, memory_bytes=1000)
    for asked in ("xjoin", MINE):
        choice = choose(asked, known)  # type: ignore[arg-type]
        assert choice.algorithm is (MINE if asked is MINE else ALGORITHMS["xjoin"])
        assert choice.notes == []
    with pytest.raises(InvalidJoin, match="algorithm='Auto' is not known"):
        choose("Auto", known)  # type: ignore[arg-type]


def test_an_estimate_gets_one_that_samples() -> None:
    require_sampling(choose("auto", Known(is_estimate=True)).algorithm)


def test_a_size_is_known_if_all_inputs_know_theirs() -> None:
    schemas = [LEFT.schema, RIGHT.schema]
    assert bytes_of_all(schemas, [None, 3]) is None
    assert bytes_of_all(schemas, [2, None]) is None
    assert bytes_of_all(schemas, [2, 3]) == 5 * (2 * 8 + 12)


# What sources know


def in_parquet(table: pa.Table, folder: Path) -> Path:
    file = folder / f"{table.column_names[1]}.parquet"
    pq.write_table(table, file)
    return file


def in_csv(table: pa.Table, folder: Path) -> Path:
    file = folder / f"{table.column_names[1]}.csv"
    arrow_csv.write_csv(table, file)
    return file


Given = Callable[[pa.Table, Path], object]
RESTING: dict[str, Given] = {
    "table": lambda table, _: table,
    "encoded table": lambda table, _: table.set_column(0, "k", table.column("k").dictionary_encode()),
    "Parquet file": in_parquet,
    "source of a Parquet file": lambda table, folder: sooner.sources.parquet(in_parquet(table, folder)),
    "checked source": lambda table, folder: sooner.sources.checked(sooner.sources.parquet(in_parquet(table, folder))),
    "frame of Polars": lambda table, _: polars.from_arrow(table),
}
UNKNOWN: dict[str, Given] = {
    "reader": lambda table, _: table.to_reader(),
    "replay": lambda table, _: paced(table, Fixed(1e-7)),
    "CSV file": in_csv,
}


@pytest.mark.parametrize("given", RESTING.values(), ids=RESTING)
def test_inputs_that_are_here_as_a_whole_are_compared_with_the_memory(given: Given, tmp_path: Path) -> None:
    for memory, name in ((LITTLE, "hmj"), (PLENTY, "rpj"), (None, "rpj")):
        query = sooner.join(given(LEFT, tmp_path), given(RIGHT, tmp_path), on="k", memory=memory)
        first, why, _ = query.explain().splitlines()
        assert first.startswith(f"joined by {name}, ")
        assert why.startswith(f"algorithm: {name}, since the inputs, about 437.5 KB,")
        assert query.progress.algorithm == name


@pytest.mark.parametrize("given", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("side", ["left", "right"])
def test_an_input_that_may_take_its_time_is_enough_for_the_usual_one(given: Given, side: str, tmp_path: Path) -> None:
    left = given(LEFT, tmp_path) if side == "left" else LEFT
    right = given(RIGHT, tmp_path) if side == "right" else RIGHT
    query = sooner.join(left, right, on="k", memory=LITTLE)
    assert query.explain().splitlines()[1].startswith(EARLY)
    assert query.progress.algorithm == "rpj"


def test_only_what_is_read_of_the_right_counts() -> None:
    wide = RIGHT.append_column("text", pa.array(["x" * 100] * len(RIGHT)))
    for how, name in (("inner", "hmj"), ("semi", "rpj")):
        assert sooner.join(LEFT, wide, on="k", how=how, memory="700KB").progress.algorithm == name  # type: ignore[arg-type]


# What runs


def test_the_answer_is_the_same_and_what_was_chosen_is_what_runs(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    query = sooner.join(LEFT, RIGHT, on="k", memory=LITTLE, trace=file)
    assert Counter((a, b) for _, a, b in join_rows(query).elements()) == nested_loop(LEFT, RIGHT, ["k"], ["k"])
    assert query.progress.algorithm == "hmj"
    trace = read_whole_trace(file)
    assert "Algorithm(name='hmj'" in trace.headers[0].plan[0]
    flushed = Counter(entry.event.tick for entry in trace.entries if isinstance(entry.event, Flushed))
    assert flushed
    assert set(flushed.values()) == {2}, "HMJ flushes both sides of a partition"


def test_sql_and_estimates_choose_by_what_is_asked() -> None:
    tables = {"l": LEFT, "r": RIGHT}
    rows = sooner.sql("SELECT l.a, r.b FROM l JOIN r ON l.k = r.k", tables, memory=LITTLE)
    assert isinstance(rows, sooner.Query)
    assert (rows.progress.algorithm, "algorithm: hmj, since" in rows.explain()) == ("hmj", True)
    some = sooner.sql("SELECT l.a, r.b FROM l JOIN r ON l.k = r.k WHERE l.a > 9", tables, memory=LITTLE)
    assert EARLY in some.explain()
    named = sooner.sql("SELECT l.a, r.b FROM l JOIN r ON l.k = r.k", tables, memory=LITTLE, algorithm="xjoin")
    assert named.progress.algorithm == "xjoin"
    for estimates in (
        sooner.sql("SELECT COUNT(*) AS n FROM l JOIN r ON l.k = r.k", tables, memory=LITTLE),
        sooner.estimate(LEFT, RIGHT, on="k", aggregates={"n": "count"}, memory=LITTLE),
        sooner.estimate(LEFT, RIGHT, on="k", aggregates={"n": "count"}, algorithm="auto"),
    ):
        assert estimates.progress.algorithm == "pr_join"
        assert estimates.explain().splitlines() == [
            "joined by pr_join, how='inner', where left k = right k",
            "algorithm: pr_join, since what it has joined is a random sample at any time",
        ]
    asked = sooner.estimate(LEFT, RIGHT, on="k", aggregates={"n": "count"}, algorithm="grace")
    assert asked.explain() == "joined by grace, how='inner', where left k = right k"


def test_a_look_up_and_a_join_of_many_say_theirs_as_well() -> None:
    assert sooner.enrich(LEFT, RIGHT, on="k").progress.algorithm == "probe"
    assert sooner.multijoin({"l": LEFT, "r": RIGHT}, on="k").progress.algorithm
