"""Distances in time as text: what they mean, and sentences for what is none."""

import datetime as dt

import pyarrow as pa
import pytest

import sooner
from sooner.asked.intervals import interval_of

VIEWS = pa.table({"seen": pa.array([0, 100, 1_000], pa.timestamp("s")), "ad": [1, 2, 3]})
CLICKS = pa.table({"clicked": pa.array([60, 101, 9_000], pa.timestamp("s")), "ad": [1, 2, 3]})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10 minutes", 600), ("1 minute", 60), ("1 hour 30 minutes", 5_400), ("INTERVAL 5 MINUTES", 300),
        ("-2 days", -172_800), ("1.5 s", 1.5), ("250ms", 0.25), (" 1 week ", 604_800), ("1 hour -30 min", 1_800),
    ],
)  # fmt: skip
def test_an_interval_in_words_is_as_long_as_it_says(text: str, seconds: float) -> None:
    assert interval_of("within", text) == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "ten minutes", "10", "10 minutes or so", "2 months", "5 m 3", "9999999999 weeks"])
def test_what_is_no_interval_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(sooner.InvalidJoin, match=r"^lateness='"):
        interval_of("lateness", text)


@pytest.mark.parametrize("within", ["1 minute", ("0 s", "1 minute"), (None, "60 seconds"), dt.timedelta(minutes=1)])
def test_rows_are_near_each_other_by_words_as_by_timedeltas(within: object) -> None:
    found = sooner.join(VIEWS, CLICKS, left_on="seen", right_on="clicked", within=within, by="ad", lateness="5 minutes")  # type: ignore[arg-type]
    assert sorted(found.to_table()["ad"].to_pylist()) == [1, 2]


def test_many_inputs_take_words_too() -> None:
    found = sooner.multijoin(
        {"views": VIEWS, "clicks": CLICKS}, "ad", within={("views.seen", "clicks.clicked"): ("0 s", "1 minute")}
    )
    assert sorted(found.to_table()["ad"].to_pylist()) == [1, 2]


def test_a_retention_in_words_must_be_longer_than_nothing() -> None:
    assert sooner.join(VIEWS, CLICKS, on="ad", retention="7 days").to_table().num_rows == 3
    with pytest.raises(sooner.InvalidJoin, match="retention='0 days' must be"):
        sooner.join(VIEWS, CLICKS, on="ad", retention="0 days")
