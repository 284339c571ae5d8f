"""Paths and URIs: which filesystem they mean. What is opened on the driver must mean the same on every executor."""

from pathlib import Path

import pyarrow.fs as pafs


def open_location(location: str) -> tuple[pafs.FileSystem, str]:
    """The filesystem, and the path in it; a local path may be relative to where this process runs."""
    if location.startswith("s3a://"):  # Spark's name for what Arrow calls s3
        location = "s3" + location.removeprefix("s3a")
    if "://" not in location:
        return pafs.LocalFileSystem(), str(Path(location.removeprefix("file:")).absolute())
    filesystem, path = pafs.FileSystem.from_uri(location)
    return filesystem, path.rstrip("/")
