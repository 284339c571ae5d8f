"""Notes that an input has no more rows: files in the state, left by whoever runs the query, read by the pacemaker.

A note names the query that it is for, by the id that stays the same when the query goes on from its checkpoint. So one
that was left by a query that never ran means nothing to the next.
"""

from collections.abc import Sequence

import pyarrow.fs as pafs

from sooner.runs.custody.private_files import create, make_directory
from sooner.spark.step.state_directory import open_state


def note_end(state: str, name: str, query: str) -> None:
    """Note for this query that the input of this name has no more rows."""
    filesystem, path = open_state(state)
    make_directory(filesystem, path)
    with create(filesystem, _note(path, name)) as file:
        file.write(query.encode())


def noted_ends(state: str, names: Sequence[str], query: str) -> int:
    """A bit for each of these inputs of which there is a note for this query."""
    filesystem, path = open_state(state)
    found = filesystem.get_file_info([_note(path, name) for name in names])
    ended = 0
    for which, file in enumerate(found):
        if file.type == pafs.FileType.File:
            with filesystem.open_input_stream(file.path) as content:
                ended |= (content.read(len(query.encode()) + 1) == query.encode()) << which
    return ended


def _note(path: str, name: str) -> str:
    return f"{path}/{name}-has-ended"
