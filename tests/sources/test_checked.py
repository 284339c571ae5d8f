"""A source that breaks a promise is stopped with a sentence that names it."""

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from sooner.errors import BudgetTooSmall, SourceFailed
from sooner.sources import Source, checked, close_source

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


def batch(rows: int, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows, field.type) for field in schema], schema=schema)


class Scripted:
    """Gives batches and raises exceptions in the order written."""

    name = "left"
    schema = SCHEMA

    def __init__(self, *script: object) -> None:
        self._script = script
        self.closed = threading.Event()

    def batches(self) -> Iterator[pa.RecordBatch]:
        for entry in self._script:
            if isinstance(entry, BaseException):
                raise entry
            yield entry

    def close(self) -> None:
        self.closed.set()


def test_a_source_that_keeps_its_promises_is_passed_through() -> None:
    given = [batch(3), batch(0), batch(2)]
    source = checked(Scripted(*given))
    assert isinstance(source, Source)
    assert (source.name, source.schema) == ("left", SCHEMA)
    assert all(out is into for out, into in zip(source.batches(), given, strict=True))


def test_an_exception_midway_says_how_far_the_source_came() -> None:
    cause = OSError("the cable was cut")
    batches = checked(Scripted(batch(1_000), batch(234), cause)).batches()
    assert next(batches).num_rows == 1_000
    assert next(batches).num_rows == 234
    with pytest.raises(SourceFailed, match=r"^source 'left' failed after 1,234 rows: the cable was cut$") as caught:
        next(batches)
    assert caught.value.__cause__ is cause


def test_an_exception_without_words_is_named_by_its_class() -> None:
    with pytest.raises(SourceFailed, match="failed after 0 rows: TimeoutError"):
        list(checked(Scripted(TimeoutError())).batches())


def test_an_exception_of_batches_itself_counts_too() -> None:
    class Refusing(Scripted):
        def batches(self) -> Iterator[pa.RecordBatch]:
            raise OSError("no answer")

    with pytest.raises(SourceFailed, match="source 'left' failed after 0 rows: no answer"):
        list(checked(Refusing()).batches())


def test_errors_of_sooner_pass_unchanged() -> None:
    error = BudgetTooSmall("too small")
    with pytest.raises(BudgetTooSmall) as caught:
        list(checked(Scripted(error)).batches())
    assert caught.value is error


def test_an_interrupt_is_no_failure_of_the_source() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(checked(Scripted(KeyboardInterrupt())).batches())


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ([("k", pa.int32()), ("v", pa.string())], "column 'k' was int64 and is int32 now"),
        ([("k", pa.int64()), ("v", pa.large_string())], "column 'v' was string and is large_string now"),
        ([("k", pa.int64()), ("w", pa.string())], "column 2 was 'v' and is 'w' now"),
        ([("v", pa.string()), ("k", pa.int64())], "column 1 was 'k' and is 'v' now"),
        ([("k", pa.int64())], "there were 2 columns and are 1 now; the difference: \\['v'\\]"),
        ([*SCHEMA, ("x", pa.int8())], "there were 2 columns and are 3 now; the difference: \\['x'\\]"),
    ],
)
def test_a_change_of_schema_is_told_column_and_types(changed: list[object], what: str) -> None:
    batches = checked(Scripted(batch(5_000), batch(1, pa.schema(changed)))).batches()
    assert next(batches).num_rows == 5_000
    with pytest.raises(SourceFailed, match=f"^source 'left' changed its schema after 5,000 rows: {what}$"):
        next(batches)


def test_metadata_and_nullability_may_differ_and_are_made_equal() -> None:
    same_but = pa.schema([pa.field("k", pa.int64(), nullable=False), SCHEMA.field("v")], {"written by": "me"})
    (out,) = checked(Scripted(batch(2, same_but))).batches()
    assert out.schema.equals(SCHEMA, check_metadata=True)
    assert out.num_rows == 2


def test_something_else_than_a_batch_is_refused() -> None:
    with pytest.raises(SourceFailed, match="source 'left' gave a Table after 7 rows"):
        list(checked(Scripted(batch(7), pa.table({"k": [1]}))).batches())


def test_close_reaches_the_source_and_does_not_need_to() -> None:
    source = Scripted()
    close_source(checked(source))
    assert source.closed.is_set()

    class WithoutClose:
        name = "left"
        schema = SCHEMA

        def batches(self) -> Iterator[pa.RecordBatch]:
            yield batch(1)

    close_source(checked(WithoutClose()))


def test_an_error_of_the_consumer_is_not_blamed_on_the_source() -> None:
    batches = checked(Scripted(batch(1), batch(1))).batches()
    next(batches)
    with pytest.raises(ZeroDivisionError):
        batches.throw(ZeroDivisionError())
