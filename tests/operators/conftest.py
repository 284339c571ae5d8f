"""Joins here write thousands of small files: in memory, where there is room for them, that takes a tenth less time."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sooner.runs.custody.shared_memory_directory import SHARED_MEMORY


@pytest.fixture(scope="module", autouse=True)
def temporary_files_in_memory() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        if os.access(SHARED_MEMORY, os.R_OK | os.W_OK | os.X_OK):
            patched.setattr(tempfile, "tempdir", str(SHARED_MEMORY))
        yield


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """As pytest has it, but among these files, and gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
