"""Paths and URIs: which filesystem they mean. What is opened on the driver must mean the same on every executor."""

from pathlib import Path
from typing import Final

import pyarrow.fs as pafs

_DELAYED: Final = "allow_delayed_open"  # of Arrow's S3: a small file takes one request to be written, and not three


def open_location(location: str) -> tuple[pafs.FileSystem, str]:
    """The filesystem, and the path in it; a local path may be relative to where this process runs."""
    if location.startswith("s3a://"):  # Spark's name for what Arrow calls s3
        location = "s3" + location.removeprefix("s3a")
    if "://" not in location:
        return pafs.LocalFileSystem(), str(Path(location.removeprefix("file:")).absolute())
    if location.startswith("s3://") and _DELAYED not in location:
        location += f"{'&' if '?' in location else '?'}{_DELAYED}=true"
    filesystem, path = pafs.FileSystem.from_uri(location)
    return filesystem, path.rstrip("/")


def inside_of(location: str, path: str) -> str:
    """A path or URI of what is in a directory. A URI may have options of its filesystem after the path."""
    directory, mark, options = location.partition("?") if "://" in location else (location, "", "")
    return f"{directory.rstrip('/')}/{path}{mark}{options}"
