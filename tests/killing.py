"""Drivers that are killed in the middle of a query, with their Java."""

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from patience import until
from spark_joins import start_driver

KILL_WITHIN_SECONDS = 3.0


def kill_in_a_batch(folder: Path, dice: random.Random, program: ModuleType, *arguments: object) -> None:
    """Start a driver, let it begin a batch, and kill it and its Java a random time later."""
    before = batches_begun(folder)
    kill_when(lambda: batches_begun(folder) != before, KILL_WITHIN_SECONDS, folder, dice, program, *arguments)


def kill_when(
    happens: Callable[[], bool],
    within_seconds: float,
    folder: Path,
    dice: random.Random,
    program: ModuleType,
    *arguments: object,
) -> None:
    driver, java = start_driver(folder, program, *arguments)
    try:
        until(lambda: driver.poll() is not None or happens(), "no batch begins")
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.wait(dice.uniform(0, within_seconds))
    finally:
        for group in (java, driver.pid):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(group), signal.SIGKILL)
        driver.communicate()


def batches_begun(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "offsets").glob("[0-9]*")))
