"""What goes wrong, and what the user is told: one sentence of the right class that names the culprit."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import Gated, Rows, gated, join_rows, multiset, numbered, refused, soon, wait_until
from sooner.errors import BudgetTooSmall, InvalidJoin, SoonerError, SourceFailed, StateCorrupted
from sooner.how import KINDS, How

LEFT, RIGHT = numbered(3000, name="a", seed=1), numbered(3000, name="b", seed=2)


class Untouched:
    """A source that must not be read."""

    name, schema = "untouched", LEFT.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        raise AssertionError("data was read before the arguments were found good")


# Before any data is read


def test_a_key_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    table = pa.table({"customer_id": [1], "amount": [2]})
    with refused(InvalidJoin, "left", "'customer_ids'", "did you mean 'customer_id'"):
        sooner.join(table, table, on="customer_ids")


def test_a_key_that_is_there_twice_is_refused() -> None:
    twice = pa.table([[1], [2]], names=["k", "k"])
    with refused(InvalidJoin, "right", "2 columns named 'k'"):
        sooner.join(LEFT, twice, on="k")


def test_keys_that_cannot_be_compared_are_refused_with_both_types() -> None:
    with refused(InvalidJoin, "'k'", "int64", "string"):
        sooner.join(LEFT, pa.table({"k": ["a"]}), on="k")


def test_more_keys_on_one_side_than_on_the_other_are_refused() -> None:
    with refused(InvalidJoin, "2 key columns on the left", "1 on the right"):
        sooner.join(LEFT, RIGHT, left_on=["k", "a"], right_on="k")


@pytest.mark.parametrize(
    ("keys", "mentions"),
    [
        ({"on": "k", "left_on": "k"}, ["on=", "left_on="]),
        ({}, ["on=", "left_on=", "right_on="]),
        ({"left_on": "k"}, ["left_on=", "right_on="]),
        ({"on": []}, ["key column"]),
    ],
)
def test_keys_that_are_given_twice_or_not_at_all_are_refused(keys: dict[str, object], mentions: list[str]) -> None:
    with refused(InvalidJoin, *mentions):
        sooner.join(LEFT, RIGHT, **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "value", "mentions"),
    [
        ("how", "lefft", ["how='lefft'", "did you mean", "'left'"]),
        ("how", "qqq", ["how='qqq'", "'inner', 'left', 'right', 'full', 'semi', 'anti'"]),
        ("how", "right_anti", ["how='right_anti'", "the other way round", "how='anti'"]),
        ("how", "asof", ["how='asof'", "'inner'"]),
        ("how", None, ["how=None", "'inner'"]),
        ("how", np.array(["inner", "left"]), ["how=array", "'inner'"]),
        ("algorithm", "xjion", ["'xjion'", "did you mean", "'xjoin'"]),
        ("algorithm", "qqq", ["'qqq'", "rpj", "xjoin"]),
        ("algorithm", ["rpj"], ["['rpj']"]),
        ("memory", "a lot", ["memory='a lot'", "'256MB'"]),
        ("memory", "1" + "0" * 400, ["more than any machine has", "None"]),
        ("memory", 10**400, ["more than any machine has", "None"]),
        ("memory", -1, ["memory=-1"]),
        ("memory", "0", ["memory='0'"]),
        ("memory", 1.5, ["memory=1.5"]),
        ("partitions", 0, ["partitions=0"]),
        ("partitions", 2.5, ["partitions=2.5"]),
        ("partitions", True, ["partitions=True", "whole number"]),
        ("partitions", 10**9, ["partitions=1000000000", "65,536"]),
        ("workers", -1, ["workers=-1"]),
        ("workers", 2.5, ["workers=2.5"]),
        ("workers", True, ["workers=True", "whole number"]),
        ("silence_seconds", -1, ["silence_seconds=-1"]),
        ("silence_seconds", float("nan"), ["silence_seconds=nan"]),
        ("silence_seconds", float("inf"), ["silence_seconds=inf", "from 0 to"]),
        ("silence_seconds", 1e300, ["silence_seconds=1e+300", "from 0 to"]),
        ("silence_seconds", True, ["silence_seconds=True"]),
        ("silence_seconds", "soon", ["silence_seconds='soon'"]),
        ("suffixes", ("_a",), ["suffixes=('_a',)"]),
        ("suffixes", ("", ""), ["suffixes=('', '')", "'row'"]),
        ("on", 5, ["5"]),
        ("on", ["k", 5], ["5"]),
        ("spill_dir", 3, ["spill_dir=3"]),
        ("spill_dir", b"bytes", ["spill_dir=b'bytes'"]),
        ("spill_dir", "with\0nul", [r"spill_dir='with\x00nul'", "path of a directory"]),
        ("spill_dir", "~nobody-of-this-name/spill", ["spill_dir='~nobody-of-this-name/spill'", "home"]),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_before_data_is_read(
    option: str, value: object, mentions: list[str]
) -> None:
    source = Untouched()
    other = Gated([], numbered(1).schema)
    arguments: dict[str, object] = {"on": "k", option: value}
    if option == "suffixes":
        source, other = numbered(1), numbered(1)  # type: ignore[assignment]
    with refused(InvalidJoin, *mentions):
        soon(sooner.join(source, other, **arguments).to_table)  # type: ignore[arg-type]


def test_a_cross_join_is_told_that_there_is_none_and_not_that_it_lacks_keys() -> None:
    with refused(InvalidJoin, "how='cross'", "no keys", "'inner'"):
        sooner.join(LEFT, RIGHT, how="cross")  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["semi", "left_anti"])
def test_suffixes_that_would_never_be_used_are_refused(how: How) -> None:
    with refused(InvalidJoin, "suffixes=('_a', '_b')", "never", f"how='{how.removeprefix('left_')}'"):
        sooner.join(LEFT, RIGHT, on="k", how=how, suffixes=("_a", "_b"))


@pytest.mark.parametrize("how", KINDS)
def test_names_that_clash_are_refused_where_the_join_has_both(how: How) -> None:
    left, right = pa.table({"k": [1], "v": [2], "v_left": [3]}), pa.table({"k": [1], "v": [4]})
    if how in ("semi", "anti"):
        assert sooner.join(left, right, on="k", how=how).schema.names == ["k", "v", "v_left"]
    else:
        with refused(InvalidJoin, f"how='{how}'", "'v_left'", "suffixes"):
            sooner.join(left, right, on="k", how=how)


def test_memory_that_cannot_hold_a_batch_is_refused() -> None:
    with refused(BudgetTooSmall, "memory='1KB'", "64.0 KB"):
        sooner.join(LEFT, RIGHT, on="k", memory="1KB")


@pytest.mark.parametrize("thing", [5, None, [1, 2, 3], {"k": [1]}, object()])
def test_an_input_without_rows_is_refused_with_what_would_do(thing: object) -> None:
    with refused(InvalidJoin, "right", type(thing).__name__, "Arrow table"):
        sooner.join(LEFT, thing, on="k")


def test_one_stream_for_both_sides_is_refused() -> None:
    """Each side would get some of the rows, and the answer would be wrong."""
    stream = LEFT.to_reader(max_chunksize=100)
    with refused(InvalidJoin):
        sooner.join(stream, stream, on="k")


# While data is read


def results_until(kind: type[SoonerError], query: sooner.Query, *mentions: str) -> Rows:
    """What came before the error."""
    found = Rows()

    def read() -> None:
        for batch in query:
            found.update(multiset([batch]))

    with refused(kind, *mentions):
        soon(read)
    return found


@pytest.mark.parametrize("algorithm", ["rpj", "hmj", "symmetric_hash"])
def test_a_source_that_fails_is_named_and_all_before_it_is_joined(algorithm: str) -> None:
    def fail_when_the_other_has_arrived() -> None:
        wait_until(query, lambda progress: progress.arrived_rows == (1500, 3000))
        raise ValueError("bad checksum in page 7")

    source = gated(LEFT, fail_when_the_other_has_arrived, name="orders")
    memory = None if algorithm == "symmetric_hash" else "64KB"
    query = sooner.join(source, RIGHT, on="k", memory=memory, algorithm=algorithm)
    found = results_until(SourceFailed, query, "'orders'", "1,500 rows", "bad checksum in page 7")
    assert found
    assert found <= join_rows(sooner.join(LEFT, RIGHT, on="k"))


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseException("enough"), "BaseException: enough"),
    ],
    ids=repr,
)
def test_a_source_that_raises_a_base_exception_is_named_and_does_not_hang_the_query(
    raised: BaseException, reason: str
) -> None:
    def fail() -> None:
        raise raised

    query = sooner.join(RIGHT, gated(LEFT, fail, name="orders"), on="k")
    results_until(SourceFailed, query, f"source 'orders' failed after 1,500 rows: {reason}")


def test_a_source_that_changes_its_schema_is_named_with_the_column() -> None:
    changed = LEFT.slice(0, 10).set_column(1, "a", pa.array(["x"] * 10)).to_batches()
    source = Gated([*LEFT.to_batches(max_chunksize=1000), *changed], LEFT.schema, "orders")
    found = results_until(SourceFailed, sooner.join(source, RIGHT, on="k"), "'orders'", "'a'", "int64", "string")
    assert found <= join_rows(sooner.join(LEFT, RIGHT, on="k"))


def test_a_row_larger_than_the_memory_is_refused_with_its_size() -> None:
    table = pa.table({"k": [1, 2, 3], "text": ["small", "x" * 300_000, "small"]})
    results_until(
        BudgetTooSmall,
        sooner.join(table, RIGHT, on="k", memory="128KB"),
        "of rows arrived at once",
        "85.3 KB",
        "`memory`",
    )


def test_an_algorithm_without_a_disk_says_so_when_memory_is_full() -> None:
    query = sooner.join(LEFT, RIGHT, on="k", memory="64KB", algorithm="symmetric_hash")
    found = results_until(BudgetTooSmall, query, "'symmetric_hash'", "'rpj'", "memory")
    assert found <= join_rows(sooner.join(LEFT, RIGHT, on="k"))


@pytest.mark.parametrize("algorithm", ["rpj", "xjoin", "hmj", "pmj"])
@pytest.mark.parametrize("damage", ["flipped bit", "cut short", "gone"])
def test_a_damaged_spill_file_is_found_and_nothing_of_it_is_used(algorithm: str, damage: str, tmp_path: Path) -> None:
    harm_done = threading.Event()

    def harm() -> None:
        """Called by the left source in the middle of its rows, when the join has spilled some."""
        wait_until(query, lambda progress: progress.spilled_rows > 500)
        for file in tmp_path.glob("*/*"):
            content = bytearray(file.read_bytes())
            if not content:
                continue  # just being written
            content[len(content) // 2] ^= 1
            if damage == "gone":
                file.unlink()
            else:
                file.write_bytes(content[: len(content) // 3] if damage == "cut short" else content)
        harm_done.set()

    source = gated(LEFT, harm, name="orders")
    query = sooner.join(
        source, RIGHT, on="k", memory="64KB", algorithm=algorithm, spill_dir=tmp_path, silence_seconds=60
    )
    found = results_until(StateCorrupted, query, str(tmp_path))
    assert harm_done.is_set()
    assert found <= join_rows(sooner.join(LEFT, RIGHT, on="k"))
    assert list(tmp_path.iterdir()) == []
