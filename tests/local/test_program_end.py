"""How a program ends does not depend on what its sources are doing then."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

import ending_programs

ENDS = {
    "head": (0, "3\n", ""),
    "sleeps": (0, "3\n", ""),
    "breaks": (0, "", ""),
    "leaves_much_undone": (0, "", ""),
    "estimates": (0, "True\n", ""),
    "source_fails": (1, "", "the cable is cut"),
    "exits_in_the_loop": (3, "", ""),
    "exits_in_a_trace": (4, "", ""),
    "is_interrupted": (-signal.SIGINT, "", "KeyboardInterrupt"),
    "reads_in_a_daemon": (0, "", ""),
    "reads_in_a_thread": (0, "1000\n", ""),
    "joins_a_join": (0, "3\n", ""),
    "forks": (0, "5\n", ""),
    "tidies_up": (0, "3\n", ""),
}
SOON_SECONDS = ending_programs.LONG_SECONDS / 2  # however busy the machine is


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", ending_programs.__file__, str(tmp_path_factory.mktemp("ends"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("program", [program.__name__ for program in ending_programs.PROGRAMS])
def test_a_program_ends_as_it_means_to(ends: dict[str, Any], program: str) -> None:
    end, (code, stdout, mentions) = ends[program], ENDS[program]
    assert (end["code"], end["stdout"]) == (code, stdout), end["stderr"]
    assert mentions in end["stderr"] if mentions else not end["stderr"], end["stderr"]
    assert end["seconds"] < SOON_SECONDS
