"""The state directory of a join: who it belongs to, and where its partitions lie.

    <state>/left-has-ended             word from the driver, see `sooner.spark.dataflow.endings`
    <state>/partition-00003/           manifests and run files of one partition, see `sooner.runs.formats.versions`;
                                       elsewhere once partitions were divided, see `layout`

A state belongs to one join of one query. Anything else that comes with it is refused in a sentence, before the query
starts where that can be known, and by the first step otherwise.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

from sooner.arguments import plain_path
from sooner.errors import InvalidJoin, StateCorrupted
from sooner.runs.formats.versions import MissingVersion, Versions
from sooner.spark.interop.locations import open_location
from sooner.spark.step.layout import PARTITION, partition_directory, root_of

QUERY: Final = "query"
_WHAT_DIFFERS: Final = {
    "question": "answers another question",
    "partitions": "has another number of partitions",
    "algorithm": "was made with another algorithm",
    "how": "is of another kind of join",
    "left": "has other columns on the left",
    "right": "has other columns on the right",
    "stream": "has other columns in the stream",
    "master": "has other columns in the master",
    "inputs": "has other inputs",
    "on": "joins its inputs by other columns",
    "changes": "takes other changes of its master",
    "keys": "has other keys",
    "range": "joins by another range",
    "forgets": "forgets its rows at another time",
    "hot_keys": "was made with another choice of hot_keys",
    "arrow": "was made with other Arrow settings",
}


def open_state(state: str, argument: str = "state") -> tuple[pafs.FileSystem, str]:
    """The filesystem, and the path in it."""
    try:
        return open_location(state)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidJoin(f"{argument}={state!r} cannot be opened ({error}); give a path or a URI of Arrow.") from error


def location_of(state: str | Path | None, argument: str = "state") -> str:
    """A path or URI that means the same in every process of a cluster with a shared filesystem."""
    if state is None:
        raise InvalidJoin(
            f"{argument}=None: the rows that a join keeps need a place that outlives the program, as its checkpoint "
            f'does; give a directory of its own, by path or URI, such as {argument}="/data/join-state".'
        )
    if not isinstance(state, str | Path) or not str(state):
        raise InvalidJoin(f"{argument}={state!r} must be a directory, by path or URI.")
    text = str(state)
    location = text if "://" in text else str(plain_path(argument, text.removeprefix("file:")))
    open_state(location, argument)
    return location


def stored_identity(state: str) -> dict[str, Any] | None:
    """Which join a state belongs to, if it has been used."""
    filesystem, path = open_state(state)
    for directory in _partition_directories(filesystem, root_of(filesystem, path)):
        versions = Versions(filesystem, directory)
        for version in reversed(versions.published()):
            if (header := versions.header(version)) is not None:
                return header.identity
    return None


def _partition_directories(filesystem: pafs.FileSystem, root: str) -> Iterator[str]:
    """The first, which nearly always has versions if any has; then all, since a first batch may have been cut off."""
    yield partition_directory(root, 0)
    inside = filesystem.get_file_info(pafs.FileSelector(root, allow_not_found=True))
    yield from sorted(info.path for info in inside if info.base_name.startswith(PARTITION))


def require_same_join(state: str, stored: dict[str, Any], identity: dict[str, Any]) -> None:
    """Refuse a state that another join has left. Which query it was is known only while the query runs."""
    for name, what in _WHAT_DIFFERS.items():
        if stored.get(name) != identity.get(name):
            raise InvalidJoin(
                f"The state in {state} {what}: {stored.get(name)} there, {identity.get(name)} here. Give the join "
                "another state, or make it as it was."
            )
    if QUERY in identity and stored[QUERY] != identity[QUERY]:
        raise InvalidJoin(
            f"The state in {state} belongs to another query (id {stored[QUERY]}): give this one a state of its own, or "
            "start it from that query's checkpoint."
        )


def start_from(
    versions: Versions, version: int, identity: dict[str, Any], state: str, partition: int
) -> dict[str, Any] | None:
    """The state that this version is made from: that of the version before, or None if this is the first."""
    if version > 0:
        with suppress(MissingVersion):
            header, data = versions.load(version - 1)
            require_same_join(state, header.identity, identity)
            return data
    for number in versions.published():
        if (version == 0 or number < version) and (found := versions.header(number)) is not None:
            require_same_join(state, found.identity, identity)
    if version == 0:
        return None
    raise StateCorrupted(
        f"Partition {partition} in {state} has no version {version - 1} to go on from. Either something after the join "
        "did not read all of it in the last batch (limit, take, first or show do that: write the whole batch before "
        "you look at some of it), or files of the state are gone. Start anew with another checkpoint and state."
    )
