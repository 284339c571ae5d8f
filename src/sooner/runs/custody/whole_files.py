"""Small files that are put in place whole or not at all, whoever is killed, and whoever else does the same.

Where files can be renamed, one is written beside its place and moved there. An object store cannot rename: to move is
to copy and to remove. But it shows an object only once all of it has come, so there it is written in its place. Of two
writers the last one stays; why versions need no more than that is said in `sooner.runs.formats.versions`.
"""

import uuid
from typing import Final

import pyarrow.fs as pafs

from sooner.runs.custody.private_files import create

SHOWN_WHEN_WHOLE: Final = ("s3", "gcs")  # Azure's are shown while they grow, and are moved


def put(filesystem: pafs.FileSystem, path: str, content: bytes) -> None:
    """From now on this is in the file; before, it is as it was."""
    place = path if filesystem.type_name in SHOWN_WHEN_WHOLE else f"{path}.{uuid.uuid4().hex}.unfinished"
    with create(filesystem, place) as file:
        file.write(content)
    if place != path:
        filesystem.move(place, path)
