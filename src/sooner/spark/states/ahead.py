"""What is divided of a partition before its query stops: files of rows on disk, which never change.

What has become of each file is noted beside the parts. Files that are still named when the query has stopped need not
be read again; parts of those that are gone by then are named by nobody, and are swept.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.fs as pafs

from sooner.runs.custody.private_files import make_directory
from sooner.runs.formats.versions import Header, Versions
from sooner.spark.shuffle.packing import plain_placement
from sooner.spark.shuffle.placing import Placement
from sooner.spark.states.contents import Plain

_AHEAD: Final = "ahead-"
Parts = list[Plain | None]  # of a segment: what each part has of it, if it has any


@dataclass(frozen=True)
class Notes:
    """Of one partition, in a directory of their own."""

    filesystem: pafs.FileSystem
    directory: str
    identity: Plain  # of the division: which partitions there will be
    of_files: dict[str, Any] = field(default_factory=dict)  # [segment, its parts] of each segment in a file

    @staticmethod
    def read(filesystem: pafs.FileSystem, root: str, partition: int, placements: Sequence[Placement]) -> "Notes":
        """Empty where nothing is noted, or of another division."""
        directory = f"{root}/{_AHEAD}{partition:05}"
        notes = Notes(filesystem, directory, {"placements": json.dumps(list(map(plain_placement, placements)))})
        versions = Versions(filesystem, directory)
        if published := versions.published():
            header, found = versions.load(published[-1])
            if header.identity == notes.identity:
                notes.of_files.update(found)
        return notes

    def parts_of(self, segments: Sequence[Plain]) -> list[Parts] | None:
        """Those of each of these segments, which are in one file, if all are known."""
        noted = self.of_files.get(segments[0]["file"], [])
        known = [[parts for one, parts in noted if one == segment] for segment in segments]
        return [parts[0] for parts in known] if all(known) else None

    def replace(self, of_files: dict[str, Any], version: int) -> None:
        """From now on these, for a version of the partition."""
        make_directory(self.filesystem, self.directory)
        Versions(self.filesystem, self.directory).publish(Header(version, self.identity, {}), of_files)

    def remove(self) -> None:
        if self.of_files:
            self.filesystem.delete_dir(self.directory)
