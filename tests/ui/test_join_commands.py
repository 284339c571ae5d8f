"""`sooner join`, `multijoin` and `enrich`: rows in every format, from files and pipes."""

import gzip
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest

from patience import HANG_SECONDS
from sooner.ui.command_line import main
from sooner.ui.examples_command import customers, orders, write_examples
from sooner.ui.row_formats import JsonRows, writer_of

COMMAND = [sys.executable, "-m", "sooner"]
JOIN = ["join", "orders.parquet", "customers.csv", "--on", "customer"]
MATCHES = 909
NULLS = arrow_csv.ConvertOptions(strings_can_be_null=True)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_examples(folder)
    return folder


@pytest.fixture(autouse=True)
def here(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables)


def test_a_table_has_the_first_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*JOIN, "--limit", "3"]) == 0
    titles, *rows, last = capsys.readouterr().out.splitlines()
    assert (titles.split(), len(rows)) == (["customer", "order", "cents", "name", "nation"], 3)
    assert last == "the first 3 rows to come"
    assert main([*JOIN, "--limit", "5000"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{MATCHES} rows"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "csv.gz"])
def test_a_file_is_of_the_format_that_its_name_means(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"joined.{ending}"
    assert main([*JOIN, "--how", "left", "-o", str(file)]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert list(tmp_path.iterdir()) == [file]
    found = {
        "csv": lambda: arrow_csv.read_csv(file, convert_options=NULLS),
        "jsonl": lambda: pa.Table.from_pylist([json.loads(line) for line in file.read_text().splitlines()]),
        "parquet": lambda: arrow_parquet.read_table(file),
        "arrow": lambda: pa.ipc.open_file(file.read_bytes()).read_all(),
        "csv.gz": lambda: arrow_csv.read_csv(io.BytesIO(gzip.decompress(file.read_bytes())), convert_options=NULLS),
    }[ending]()
    expected = orders().join(customers(), "customer").sort_by("order")
    assert found.select(expected.column_names).sort_by("order").to_pylist() == expected.to_pylist()


def test_other_joins_give_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ["o=orders.parquet", "c=customers.csv", "n=nations.csv"]
    keys = ["--on", "o.customer = c.customer", "--on", "c.nation = n.nation"]
    where = ["--where", "n=country = 'Chile'", "--how", "n=semi"]
    assert main(["multijoin", *inputs, *keys, "--format", "json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == MATCHES
    assert main(["multijoin", *inputs, *keys, *where, "--format", "json"]) == 0
    assert {json.loads(line)["nation"] for line in capsys.readouterr().out.splitlines()} == {1}
    assert main(["enrich", *JOIN[1:], "--how", "left", "--columns", "name", "--format", "csv"]) == 0
    titles, *rows = capsys.readouterr().out.splitlines()
    assert (titles, len(rows)) == ('"customer","order","cents","name"', 1_000)


@pytest.mark.parametrize("word", ["left_outer", "LEFT", "leftouter"])
def test_how_takes_the_words_of_other_libraries(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*JOIN, "--how", word, "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 1_000


@pytest.mark.parametrize(("within", "pairs"), [("10", 3), ("0,10", 2), (",0", 2), ("-9,", 3)])
def test_a_range_may_be_a_number_or_two(
    within: str, pairs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("x,a\n100,1\n")
    (tmp_path / "b.csv").write_text("x,b\n91,1\n100,2\n110,3\n")
    keys = ["--on", "x", f"--within={within}", "--format", "csv"]
    assert main(["join", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), *keys]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + pairs


@pytest.mark.parametrize(
    ("arguments", "exit_code", "mentions"),
    [
        ([*JOIN, "-o", "joined.txt"], 1, "ends in no format that is known"),
        ([*JOIN, "-o", "none/joined.csv"], 2, "there is no directory"),
        ([*JOIN, "--how", "crossed"], 2, "invalid choice: 'crossed'; there are inner, left,"),
        ([*JOIN, "--algorithm", "rjp"], 2, "invalid choice: 'rjp'; did you mean rpj"),
        (["jion", *JOIN[1:]], 2, "invalid choice: 'jion'; did you mean join?"),
        (["dashboard", "nothere.jsonl"], 1, "there is neither a trace nor a state at nothere.jsonl"),
        ([*JOIN, "--within", "2 months"], 1, "has 'months'"),
        (["join", "-", "-", "--on", "k"], 1, "can be read once"),
        (["join", "orders.parquet", "customers.csv"], 1, "equal? Give --on, or both --left-on and --right-on."),
        ([*JOIN, "--memory", "lots"], 1, "--memory 'lots' is not a size"),
        (["sql", "SELECT count(*) FROM nothing"], 1, "--table has no such name; give it there."),
        (["multijoin", "orders.parquet", "--on", "k"], 2, "is not NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    arguments: list[str], exit_code: int, mentions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = main(arguments)
    except SystemExit as stop:
        found = stop.code  # type: ignore[assignment]
    answer = capsys.readouterr().err
    assert (found, answer.count("\n")) == (exit_code, 1)
    assert mentions in answer


def written_as(kind: str, table: pa.Table) -> bytes:
    sink = io.BytesIO()
    match kind:
        case "parquet":
            arrow_parquet.write_table(table, sink)
        case "array":
            sink.write(json.dumps(table.to_pylist()).encode())
        case _:
            writer = writer_of(kind.removesuffix(" file"), sink, table.schema, is_file=kind.endswith(" file"))
            for batch in table.to_batches():
                writer.write_batch(batch)
            writer.close()
    return sink.getvalue()


@pytest.mark.parametrize("kind", ["csv", "json", "array", "parquet", "arrow", "arrow file"])
def test_standard_input_is_read_in_every_format(kind: str) -> None:
    command = [*COMMAND, "join", "-", "customers.csv", "--on", "customer", "--format", "csv"]
    ran = subprocess.run(command, input=written_as(kind, orders()), capture_output=True, timeout=HANG_SECONDS)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert arrow_csv.read_csv(io.BytesIO(ran.stdout)).num_rows == MATCHES


def started(*arguments: str) -> subprocess.Popen[bytes]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *arguments], **pipes)  # type: ignore[call-overload,no-any-return]


def test_rows_of_a_pipe_are_joined_while_it_is_open_and_an_interrupt_keeps_them() -> None:
    command = started("join", "-", "customers.csv", "--on", "customer", "--format", "json")
    with command:
        assert command.stdin is not None
        assert command.stdout is not None
        command.stdin.write(b"customer,order\n1,10\n2,11\n")
        command.stdin.flush()
        assert json.loads(command.stdout.readline())["order"] in (10, 11)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=HANG_SECONDS)
    assert command.returncode == 130
    assert said.startswith(b"sooner: interrupted after ")
    assert said.count(b"\n") == 1


def test_an_interrupted_file_has_what_was_found_so_far(tmp_path: Path) -> None:
    file = tmp_path / "joined.parquet"
    with started("join", "-", "customers.csv", "--on", "customer", "-o", str(file)) as command:
        assert command.stdin is not None
        command.stdin.write(b"customer,order\n1,10\n2,11\n")
        command.stdin.flush()
        for _ in range(int(HANG_SECONDS * 10)):
            if any(tmp_path.iterdir()):
                break
            time.sleep(0.1)
        time.sleep(1.0)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=HANG_SECONDS)
    assert command.returncode == 130
    n_rows = arrow_parquet.read_metadata(file).num_rows
    assert said.decode() == f"sooner: interrupted; {file} has {n_rows} rows\n"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("module", ["sooner.plain_text", "numpy", "pyarrow.lib", "sooner.local.join"])
def test_an_interrupt_amidst_the_imports_ends_in_one_line(module: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "sooner", *JOIN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.split("|")[-1].strip() == module:
                running.send_signal(signal.SIGINT)
                break
        said = [line for line in running.stderr if not line.startswith("import time:")]
    assert (running.returncode, said) == (130, ["sooner: interrupted\n"])


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    with started(*JOIN, "--format", "csv") as command:
        assert command.stdout is not None
        command.stdout.close()
        _, said = command.communicate(timeout=HANG_SECONDS)
    assert said == b""


def test_json_has_no_number_that_is_none() -> None:
    sink = io.BytesIO()
    batch = pa.record_batch({"x": [1.5, float("nan")], "l": [[1], None], "b": [b"\xff", b"ok"]})
    JsonRows(sink, batch.schema).write_batch(batch)
    assert [json.loads(line) for line in sink.getvalue().splitlines()] == [
        {"x": 1.5, "l": [1], "b": "\\xff"}, {"x": None, "l": None, "b": "ok"},
    ]  # fmt: skip
