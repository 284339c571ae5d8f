"""A user's own algorithms and arrivals in the lab: they race as ours do, and what cannot be is a sentence."""

import datetime
import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest

import sooner
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.own.arrivals import GivenArrivals
from sooner.lab.own.comparing import Setting, comparison
from sooner.lab.own.contestants import with_own
from sooner.named_algorithms import ALGORITHMS
from sooner.ui.command_line import main
from sooner.ui.examples_command import ALGORITHM, ALGORITHM_FILE, arrivals

OURS = """import sooner
rpj = sooner.algorithm("rpj")
diner = sooner.algorithm("hmj", order="values")
waits = sooner.algorithm("pr_join")
number = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two modules, which nothing else has imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_of_tests.py").write_text(OURS)
    (tmp_path / ALGORITHM_FILE).write_text(ALGORITHM)
    arrow_csv.write_csv(arrivals(), tmp_path / "arrivals.csv")
    return tmp_path


def said_by(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.usefixtures("here")
def test_an_own_algorithm_races_in_each_set_up_as_ours_does() -> None:
    own = with_own(EXPERIMENTS["rpj-8a"], ["own_of_tests:rpj"])
    assert [*own.races][:2] == ["own_of_tests:rpj", "own_of_tests:rpj, clean-up by pages"]
    mine, ours = (own.races[name].run(250, 3) for name in ("own_of_tests:rpj", "rpj_rounded"))
    assert {**mine.columns}.keys() == {**ours.columns}.keys()
    assert all((mine.columns[name] == ours.columns[name]).all() for name in ours.columns)
    by_pages = own.races["own_of_tests:rpj, clean-up by pages"].run(250, 3)
    assert by_pages.clean_up_seconds > mine.clean_up_seconds
    assert not any(":" in name for name in ALGORITHMS)


@pytest.mark.usefixtures("here")
def test_what_keeps_the_order_of_values_has_one_partition_among_diner_s() -> None:
    own = with_own(EXPERIMENTS["diner-13-csco"], ["own_of_tests:diner"])
    race = own.races["own_of_tests:diner, CSCO"]
    assert race.set_up.partitions == 1  # type: ignore[attr-defined]
    rivals = [one.what for one in own.measurements if "over those of" in one.what]
    assert len(rivals) == 0 or all("CSCO" in one for one in rivals)


def test_a_figure_shows_the_own_algorithm_beside_its_rivals(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("lab", "run", "rpj-8b", "--scale", "250", "--algorithm", "mine:mine")
    code, out, _ = said_by(capsys, *words, "--json", "a.json", "--plot", "a.png")
    assert code == 0
    assert "mine:mine: share before the clean-up" in out
    assert "mine:mine: results at each tenth of the arrivals, over those of hmj, at least" in out
    assert "RPJ has more results than XJoin" in out
    series = json.loads((here / "a.json").read_text())["series"]
    assert next(iter(series)) == "mine:mine"
    assert series["mine:mine"]["total_results"] == series["rpj"]["total_results"]
    assert (here / "a.png").stat().st_size > 10_000


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("rpj-8a", "--algorithm", "rpj"), "algorithm 'rpj' is not MODULE:NAME; give for example mine:mine"),
        (("rpj-8a", "--algorithm", "nothere:mine"), "there is no module 'nothere' here or on Python's path"),
        (("rpj-8a", "--algorithm", "mine:yours"), "mine has no 'yours'; write yours = sooner.Algorithm('yours', ...)"),
        (("rpj-8a", "--algorithm", "own_of_tests:number"), "own_of_tests has a int by that name"),
        (("rpj-8a", "--algorithm", "folder/mine.py:mine"), "for folder/mine.py give folder.mine:mine"),
        (("rpj-8a", "--algorithm", "own_of_tests:waits"), "see it with `sooner lab compare`"),
        (("pr-join-8", "--algorithm", "mine:mine"), "--algorithm takes part in rpj-*, flush-* and diner-*"),
        (("rpj-8a", "--algorithm", "mine:mine", "--kept", "k"), "--kept cannot tell when an algorithm of your own"),
    ],
)
def test_an_own_algorithm_that_cannot_race_is_refused_in_a_sentence(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said_by(capsys, "lab", "run", *words)
    assert code != 0
    assert out == ""
    assert why in err
    assert err.count("\n") == 1


def test_a_module_that_fails_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "fails_at_once.py").write_text("1 / 0")
    _, _, err = said_by(capsys, "lab", "compare", "arrivals.csv", "--algorithms", "fails_at_once:mine")
    assert "cannot be imported: ZeroDivisionError('division by zero')" in err


# Arrivals of one's own


def test_a_comparison_finds_the_join_and_shows_each_tenth(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("lab", "compare", "arrivals.csv", "--algorithms", "rpj,mine:mine,diner,pr_join", "--memory", "20%")
    code, out, err = said_by(capsys, *words, "--json", "c.json", "--plot", "c.png", "--workers", "1")
    assert (code, err) == (0, "")
    one, other = (f"SELECT key FROM 'arrivals.csv' WHERE side = '{side}'" for side in ("left", "right"))
    [(answer,)] = duckdb.sql(f"SELECT count(*) FROM ({one}) JOIN ({other}) USING (key)").fetchall()
    report = json.loads((here / "c.json").read_text())
    assert {series["total_results"] for series in report["series"].values()} == {answer}
    assert f"{answer:,}" in out
    assert "memory for 800 rows" in out
    tenths = [[int(cell.replace(",", "")) for cell in line.split()[1:]] for line in out.splitlines()[5:9]]
    assert all(len(row) == 11 and row == sorted(row) for row in tenths)
    assert len({row[4] for row in tenths}) > 1
    assert (here / "c.png").stat().st_size > 10_000


def test_results_at_each_tenth_are_those_of_the_rows_that_have_come() -> None:
    """With memory for all, what is out at any time are the pairs of what has come."""
    table = arrivals()
    given = GivenArrivals.of_table(table)
    history = comparison("all", given, ["symmetric_hash"], Setting(len(given), 100)).races["symmetric_hash"].run(1, 0)
    half = float(given.seconds[-1]) / 2
    come = duckdb.arrow(table).filter(f"seconds <= {half}")
    pairs = come.filter("side = 'left'").set_alias("l").join(come.filter("side = 'right'").set_alias("r"), "key")
    assert history.results_at(half) == pytest.approx(pairs.count("*").fetchall()[0][0], rel=0.02)


MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "seconds",
    [
        pa.array([5, 2, 3]),
        pa.array([5.0, 2.0, 3.0]),
        pa.array([MOMENT + datetime.timedelta(seconds=one) for one in (5, 2, 3)]),
        pa.array([datetime.time(0, 0, one) for one in (5, 2, 3)]),
        pa.array([datetime.timedelta(seconds=one) for one in (5, 2, 3)]),
    ],
    ids=lambda column: str(column.type),
)
def test_rows_come_in_the_order_of_their_times_from_0_on(seconds: pa.Array) -> None:
    given = GivenArrivals.of_table(pa.table({"seconds": seconds, "side": ["L", "left", "r"], "key": ["b", "a", "b"]}))
    assert given.seconds.tolist() == [0, 1, 3]
    assert given.of_input.tolist() == [0, 1, 0]
    assert given.keys.tolist() == [0, 1, 1]
    assert given.domain == 2


def refused() -> dict[str, tuple[pa.Table, str]]:
    good = pa.table({"seconds": [0.0, 1.0], "side": ["left", "right"], "key": [1, 1]})

    def with_(name: str, values: object) -> pa.Table:
        return good.set_column(good.column_names.index(name), name, pa.array(values))

    return {
        "no column": (good.drop_columns("side"), "have no column 'side' (they have seconds, key); give a table with"),
        "no rows": (good.slice(0, 0), "the arrivals have no rows"),
        "null": (with_("key", [1, None]), "column 'key' of the arrivals is null in 1 rows"),
        "text": (with_("seconds", ["a", "b"]), "column 'seconds' of the arrivals is string, and no number or time"),
        "nan": (with_("seconds", [0.0, np.nan]), "has a value that is no moment"),
        "side": (with_("side", ["left", "up"]), "column 'side' of the arrivals has 'up'"),
        "one side": (with_("side", ["left", "left"]), "no key came on both sides"),
        "no match": (with_("key", [1, 2]), "no key came on both sides"),
    }


@pytest.mark.parametrize("case", refused())
def test_arrivals_that_say_nothing_are_refused_in_a_sentence(case: str) -> None:
    table, why = refused()[case]
    with pytest.raises(sooner.InvalidCall) as refusal:
        GivenArrivals.of_table(table)
    assert why in str(refusal.value)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--algorithms", "rpjj"), "algorithm='rpjj' is not known; did you mean 'rpj'"),
        (("--algorithms", "symmetric_hash"), "symmetric_hash keeps all 4,000 rows, and memory has room for 400"),
        (("--memory", "x%"), "--memory x% is no share; give for example 10% or 64MB"),
        (("--memory", "500"), "memory for 5 rows is too little; give room for 10"),
        (("--row-bytes", "0"), "--row-bytes and --workers must be 1 or more"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused_in_a_sentence(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said_by(capsys, "lab", "compare", "arrivals.csv", *words)
    assert (code, out) == (1, "")
    assert why in err


def test_arrivals_may_be_parquet_and_have_other_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow_parquet.write_table(arrivals().append_column("more", arrivals()["key"]), here / "a.parquet")
    outs = [said_by(capsys, "lab", "compare", file, "--algorithms", "hmj")[1] for file in ("a.parquet", "arrivals.csv")]
    assert outs[0].splitlines()[1:] == outs[1].splitlines()[1:]
