"""Word from whoever runs a query that a side of a join has no more rows: a file in the state, read by the pacemaker.

A word names the query that it is for, by the id that stays the same when the query goes on from its checkpoint. So one
that was left by a query that never ran means nothing to the next.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow.fs as pafs

from sooner.runs.private_files import create, make_directory
from sooner.sides import LEFT, RIGHT
from sooner.spark.step.state_directory import open_state

SIDE_NAMES: Final = {LEFT: "left", RIGHT: "right"}


def finish_side(state: str, side: int, query: str) -> None:
    """Leave word for this query that this side of the join has no more rows."""
    filesystem, path = open_state(state)
    make_directory(filesystem, path)
    with create(filesystem, _word(path, side)) as file:
        file.write(query.encode())


def finished_sides(state: str, query: str) -> int:
    """Bits of the sides of which there is word for this query."""
    return sum(1 << side for side, named in _words(state) if named == query)


def _words(state: str) -> Iterator[tuple[int, str]]:
    """Each side of which there is word, and the query that the word is for."""
    filesystem, path = open_state(state)
    files = filesystem.get_file_info([_word(path, side) for side in SIDE_NAMES])
    for side, file in zip(SIDE_NAMES, files, strict=True):
        if file.type == pafs.FileType.File:
            with filesystem.open_input_stream(file.path) as content:
                yield side, content.read().decode(errors="replace")


def _word(path: str, side: int) -> str:
    return f"{path}/{SIDE_NAMES[side]}-has-ended"
