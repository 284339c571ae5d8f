"""Trees compare, hash, pickle and read again from their own text; conditions of pyarrow take part."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import sqlglot

from expression_tables import table
from sooner.errors import InvalidJoin
from sooner.expressions.arrow_conditions import from_arrow
from sooner.expressions.checking import typed
from sooner.expressions.reading import from_sqlglot, parse
from sooner.expressions.tree import Column, columns_of, conjuncts, renamed

BATCH = table()
TEXTS = [
    "p * (1 - q)",
    "CASE WHEN s LIKE 'PROMO%' THEN p ELSE 0.50 END",
    "d > DATE '1995-03-15' AND s IN ('MAIL', 'it''s') AND NOT b",
    "COALESCE(i, -1) + abs(j) + year(d)",
    "CAST(p AS DOUBLE) / 2.5e0",
    "CAST(p AS DECIMAL(18, 1)) IS NULL",
    "m < TIMESTAMP '1995-01-01 10:00:00'",
    "s ILIKE 'a%'",
]


@pytest.mark.parametrize("text", TEXTS)
def test_trees_are_values(text: str) -> None:
    node = parse(text, "x=")
    assert node == parse(text, "y=")
    assert hash(node) == hash(parse(text, "y="))
    assert pickle.loads(pickle.dumps(node)) == node
    assert parse(str(node), "x=") == node
    assert from_sqlglot(sqlglot.parse_one(text, dialect="duckdb"), "x=") == node


def test_literals_of_different_types_differ() -> None:
    assert len({parse(text, "x=") for text in ("1", "1.0", "1.00", "1e0", "TRUE", "'1'")}) == 6


def test_columns_and_names() -> None:
    node = parse('o.price * (1 - "weird name") + o.price', "x=")
    assert columns_of(node) == {Column("price", "o"), Column("weird name")}
    other = renamed(node, {Column("price", "o"): Column("p"), Column("weird name"): parse("q + 1", "x=")})
    assert other == parse("p * (1 - (q + 1)) + p", "x=")
    assert columns_of(parse("CASE WHEN a THEN b ELSE c END + 1", "x=")) == set(map(Column, "abc"))
    assert parse("comment > 3", "x=") == parse('"comment" > 3', "x=")


def test_conjuncts_are_what_stands_between_the_ands_on_top() -> None:
    found = conjuncts(parse("a > 1 AND (b < 2 AND c = 3) AND (d OR e)", "where="))
    assert found == [parse(text, "where=") for text in ("a > 1", "b < 2", "c = 3", "d OR e")]
    assert conjuncts(parse("a OR b", "where=")) == [parse("a OR b", "where=")]


def test_what_was_pickled_needs_no_parser() -> None:
    checked = typed(parse("p * (1 - q) > 2 AND s LIKE 'A%'", "x="), BATCH.schema, "x=")
    program = (
        "import pickle, sys\n"
        "node, checked = pickle.loads(bytes.fromhex(sys.stdin.read()))\n"
        "assert not {'sqlglot', 'pandas', 'pyarrow.compute'} & set(sys.modules), 'loaded too much'\n"
    )
    content = pickle.dumps((checked.node, checked)).hex()
    subprocess.run([sys.executable, "-c", program], input=content, text=True, check=True)


# Conditions of pyarrow


def test_a_condition_of_pyarrow() -> None:
    expression = (pc.field("i") > 1) & (pc.field("s") == "MAIL")
    node = from_arrow(expression, BATCH.schema, "where=")
    assert columns_of(node) == {Column("i"), Column("s")}
    again = pickle.loads(pickle.dumps(node))
    assert again == node
    assert hash(again) == hash(node)
    assert node != from_arrow(pc.field("i") > 2, BATCH.schema, "where=")
    mask = typed(again, BATCH.schema, "where=").mask(BATCH)
    assert mask.tolist() == typed(parse("i > 1 AND s = 'MAIL'", "x="), BATCH.schema, "x=").mask(BATCH).tolist()
    sliced = BATCH.slice(17, 31)
    assert typed(node, BATCH.schema, "where=").mask(sliced).tolist() == mask[17:48].tolist()


def test_a_condition_of_pyarrow_with_other_names_and_encodings() -> None:
    node = from_arrow(pc.field("s") == "MAIL", BATCH.schema, "where=")
    batch = pa.record_batch({"r_s": BATCH.column("s").cast(pa.string_view())})
    other = renamed(node, {Column("s"): Column("r_s")})
    assert columns_of(other) == {Column("r_s")}
    expected = typed(node, BATCH.schema, "where=").mask(BATCH)
    assert typed(other, batch.schema, "where=").mask(batch).tolist() == expected.tolist()
    assert typed(node, pa.schema({"s": pa.string_view()}), "where=").mask(batch.rename_columns(["s"])).any()


def test_conditions_of_pyarrow_without_columns() -> None:
    node = from_arrow(pc.scalar(True), BATCH.schema, "where=")
    assert columns_of(node) == frozenset()
    assert typed(node, BATCH.schema, "where=").mask(BATCH).all()


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (pc.field("nothing") > 1, "does not fit the columns"),
        (pc.field("i") == "x", "does not fit the columns"),
        (pc.field("i") + 1, "not a condition"),
    ],
)
def test_conditions_of_pyarrow_that_are_refused(expression: pc.Expression, words: str) -> None:
    with pytest.raises(InvalidJoin, match=words):
        from_arrow(expression, BATCH.schema, "where=")
