"""Files and directories that only their owner can read, whatever the umask says.

Only local filesystems have such modes. On all others this is what pyarrow does, and the store's own rules hold.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs

OWNER_ONLY_FILE: Final = 0o600
OWNER_ONLY_DIRECTORY: Final = 0o700


def create(filesystem: pafs.FileSystem, path: str) -> pa.NativeFile:
    """An empty file, open to be written. A link in its place is refused, and not followed."""
    if not isinstance(filesystem, pafs.LocalFileSystem):
        return filesystem.open_output_stream(path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, OWNER_ONLY_FILE)
    with contextlib.suppress(OSError):  # for one that was there already; not all mounts know modes
        os.fchmod(file, OWNER_ONLY_FILE)
    if os.fstat(file).st_size:
        os.ftruncate(file, 0)
    os.close(file)
    # To append, since to truncate, even what is empty, makes ext4 write the file to the disk as soon as it is closed.
    return filesystem.open_append_stream(path)


def make_directory(filesystem: pafs.FileSystem, path: str) -> None:
    """A directory and all above it that is missing. What is there already keeps the mode that somebody gave it."""
    if isinstance(filesystem, pafs.LocalFileSystem):
        make_local_directory(Path(path))
    else:
        filesystem.create_dir(path, recursive=True)


def make_local_directory(path: Path) -> None:
    try:
        path.mkdir(OWNER_ONLY_DIRECTORY)
    except FileNotFoundError:
        if path.parent.is_dir():  # where nobody can make one, as in /proc
            raise
        make_local_directory(path.parent)
        make_local_directory(path)
    except FileExistsError:
        if not path.is_dir():
            raise
