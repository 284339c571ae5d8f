"""What is in the way where a step runs: its process may have started slowly, and its node may have no shared memory."""

import os
from pathlib import Path

from sooner.spark.session.fork_request import ENDED, NOT_FORKED, SOCKET, TOLD


def of_this_process() -> list[str]:
    """What it was told when it started, and whether others like it will start as it did."""
    told = os.environ.get(TOLD, "").splitlines()
    server = os.environ.get(SOCKET)
    if server is not None and not Path(server).exists():
        told.append(NOT_FORKED.format(ENDED))
    return list(dict.fromkeys(told))
