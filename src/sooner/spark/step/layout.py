"""How the partitions of a state lie in its directory, and how many tasks do their steps: one small file.

    <state>/layout.json                 which generation counts; without it the first, and a task for each partition
    <state>/partition-00003/            a partition of the first generation
    <state>/generation-00001/partition-00003/

Partitions of a state can become more, but not fewer: a task can do the steps of several. Those that a partition is
divided into are a generation of their own, which is written beside the one before. Then this file is put in its place,
and that is all that makes it count.
"""

import itertools
import json
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow.fs as pafs

from sooner.errors import SpillFailed
from sooner.runs.custody.whole_files import put
from sooner.runs.formats.versions import believed

GENERATION: Final = "generation-"
PARTITION: Final = "partition-"
LAYOUT: Final = "layout.json"
UNEVEN: Final = 1.25  # the largest task may have so many times its share of the partitions


@dataclass(frozen=True)
class Layout:
    generation: int = 0
    tasks: int | None = None  # None: as many as there are partitions

    def root(self, path: str) -> str:
        """The directory that the partitions are in."""
        return f"{path}/{GENERATION}{self.generation:05}" if self.generation else path


def read_layout(filesystem: pafs.FileSystem, path: str) -> Layout:
    file = f"{path}/{LAYOUT}"
    try:
        with filesystem.open_input_stream(file) as content:
            text = content.read()
    except (FileNotFoundError, NotADirectoryError):
        return Layout()
    except OSError as error:
        raise SpillFailed(f"The state cannot be read from {file}: {error}.") from error
    with believed(file):
        return Layout(**json.loads(text))


def put_layout(filesystem: pafs.FileSystem, path: str, layout: Layout) -> None:
    """From now on this one counts."""
    put(filesystem, f"{path}/{LAYOUT}", json.dumps(asdict(layout)).encode())


def root_of(filesystem: pafs.FileSystem, path: str) -> str:
    """The directory that the partitions of a state are in."""
    return read_layout(filesystem, path).root(path)


def partition_directory(root: str, partition: int) -> str:
    return f"{root}/{PARTITION}{partition:05}"


def enough_partitions(partitions: int, tasks: int) -> int:
    """How many partitions a state must be divided into so that so many tasks have about as much to do each."""
    more = (partitions * parts for parts in itertools.count(1))
    return next(many for many in more if many >= tasks and -(-many // tasks) * tasks <= UNEVEN * many)
