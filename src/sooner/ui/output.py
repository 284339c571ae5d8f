"""Where the rows of a command go: a table for people, or a file or pipe in a format for programs.

A file has its name only once it is whole. If the command is interrupted, that is with what was found so far.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.local.rows import Rows
from sooner.plain_text import plain_text
from sooner.ui.cells import cells_of
from sooner.ui.dashboard_option import add_dashboard_option, shown
from sooner.ui.exit_codes import INTERRUPTED
from sooner.ui.interrupts import Interrupts
from sooner.ui.new_files import new_file
from sooner.ui.numbers import whole_number
from sooner.ui.progress_line import ProgressLine, add_progress_arguments, progress_line
from sooner.ui.row_formats import ENDINGS, FORMATS, writer_of
from sooner.ui.tables import print_table

TABLE: Final = "table"
TABLE_ROWS: Final = 20
STANDARD: Final = "-"
_PACKED: Final = (".gz", ".bz2", ".zst", ".lz4")


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", type=_output, metavar="FILE", help="write rows there; - is standard output")
    parser.add_argument(
        "--format", choices=(TABLE, *FORMATS), metavar="FORMAT", help="table, csv, json (lines), parquet or arrow"
    )
    parser.add_argument(
        "--limit", type=whole_number, metavar="N", help=f"stop after so many rows (of a table: {TABLE_ROWS})"
    )
    add_dashboard_option(parser)
    add_progress_arguments(parser)


def is_for_standard_output(options: argparse.Namespace) -> bool:
    return options.output in (None, STANDARD)


def format_of(options: argparse.Namespace) -> str:
    """The format that is asked for, or that the name of the file means."""
    given: str | None = options.format
    if given is not None or is_for_standard_output(options):
        return TABLE if given is None else given
    name = Path(options.output).name.lower()
    plain = next((name.removesuffix(ending) for ending in _PACKED if name.endswith(ending)), name)
    if (found := ENDINGS.get(Path(plain).suffix)) is None:
        raise InvalidCall(f"{options.output} ends in no format that is known; give --format, or {', '.join(ENDINGS)}.")
    return found


def write_rows(rows: Rows, options: argparse.Namespace, format_: str) -> int:
    """Write what a query finds, as it finds it; gives the exit code."""
    limit = options.limit if options.limit is not None else TABLE_ROWS if format_ == TABLE else None
    found, hidden = first_rows(rows, limit), _goes_to_the_terminal(options, format_)
    with Interrupts(rows.stop) as interrupts, rows, shown(rows, options):
        with progress_line(options, lambda: str(getattr(rows, "progress", "reading")), hidden=hidden) as line:
            if format_ == TABLE:
                n_rows = _write_table(pa.Table.from_batches(found, rows.schema), limit, options, line)
            else:
                n_rows = write_all(found, rows.schema, options, format_)
        if not interrupts.noted:
            return 0
        where = " after" if is_for_standard_output(options) else f"; {plain_text(options.output)} has"
        print(f"sooner: interrupted{where} {n_rows:,} rows", file=sys.stderr)
        return INTERRUPTED


def _write_table(found: pa.Table, limit: int | None, options: argparse.Namespace, line: ProgressLine) -> int:
    line.clear()
    with text_output(options):
        print_table(found.column_names, cells_of(found))
        are_all = limit is None or found.num_rows < limit
        print(f"{found.num_rows:,} rows" if are_all else f"the first {found.num_rows:,} rows to come")
    n_rows: int = found.num_rows
    return n_rows


def write_all(batches: Iterable[pa.RecordBatch], schema: pa.Schema, options: argparse.Namespace, format_: str) -> int:
    n_rows = 0
    with _binary_output(options) as (sink, is_file):
        writer = writer_of(format_, sink, schema, is_file=is_file)
        for batch in batches:
            writer.write_batch(batch)
            n_rows += batch.num_rows
            if not is_file:
                sink.flush()  # whoever reads this wants it now
        writer.close()
    return n_rows


def first_rows(rows: Iterable[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Batches as they come, up to so many rows."""
    left = limit
    results = iter(rows)
    while left != 0 and (batch := next(results, None)) is not None:
        found = batch if left is None else batch.slice(0, left)
        if left is not None:
            left -= found.num_rows
        yield found


@contextmanager
def text_output(options: argparse.Namespace) -> Iterator[None]:
    if is_for_standard_output(options):
        yield
        return
    with Path(options.output).open("w") as file, contextlib.redirect_stdout(file):
        yield


@contextmanager
def _binary_output(options: argparse.Namespace) -> Iterator[tuple[Any, bool]]:
    """Where bytes go, and whether that is a file."""
    if is_for_standard_output(options):
        sys.stdout.flush()
        yield sys.stdout.buffer, False
        return
    target = Path(options.output)
    if target.exists() and not target.is_file():  # /dev/null, a named pipe
        with target.open("wb") as sink:
            yield sink, False
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with pa.output_stream(str(part), compression=_compression_of(target)) as sink:
            yield sink, True
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _compression_of(target: Path) -> str | None:
    ending = target.suffix.lower()
    return {".gz": "gzip", ".zst": "zstd"}.get(ending, ending[1:]) if ending in _PACKED else None


def _goes_to_the_terminal(options: argparse.Namespace, format_: str) -> bool:
    """Whether rows appear where a line about them would stand."""
    return format_ != TABLE and is_for_standard_output(options) and sys.stdout.isatty()


def _output(name: str) -> str:
    return name if name == STANDARD or (Path(name).exists() and not Path(name).is_file()) else str(new_file(name))
