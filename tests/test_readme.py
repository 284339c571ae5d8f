"""The README and the guide to what runs in process: what they say beside their code, which tests/test_pages.py runs."""

import re
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import sooner
from page_settings import CUSTOMERS, ORDERS
from pages import PAGES, blocks

README, IN_PROCESS = "README.md", "docs/guides/in-process.md"
MOST_LINES = 150


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len(PAGES[README].read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize(("guide", "words"), [(IN_PROCESS, "paced("), ("docs/guides/on-spark.md", "ss.start(")])
def test_a_guide_begins_with_the_program_of_the_readme(guide: str, words: str) -> None:
    [of_readme] = [block for block in blocks(README) if words in block.code]
    first = blocks(guide)[0]
    assert (first.code, first.prints) == (of_readme.code, of_readme.prints)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("pa.table(query)", pa.Table),
        ("polars.DataFrame(query)", polars.DataFrame),
        ('duckdb.sql("select ... from query")', duckdb.DuckDBPyRelation),
        ("query.to_pandas()", pandas.DataFrame),
        ("query.to_polars()", polars.DataFrame),
        ("query.head(10)", pa.Table),
    ],
)
def test_what_reads_a_query_gives_a_table_of_its_columns(words: str, kind: type[Any]) -> None:
    assert f"`{words}`" in re.sub(r"\s+", " ", PAGES[IN_PROCESS].read_text())
    query = sooner.join(ORDERS, CUSTOMERS, on="customer")
    known = {"pa": pa, "polars": polars, "duckdb": duckdb, "query": query}
    found = eval(words.replace("select ...", "select *"), known)
    assert isinstance(found, kind)
    assert found.shape == (4, 3)
