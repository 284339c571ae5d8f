"""Classes that Java keeps from one session to the next."""

import subprocess
import sys
from pathlib import Path

import pytest

from patience import HANG_SECONDS, until
from sooner.spark.session.java import archive_options

PROGRAM = """
import sys
import sooner.spark as ss
spark = ss.local_session("local[1]", java_archive=sys.argv[1])
print(spark.range(3).count(), spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
"""


def test_what_is_there_is_used_and_what_is_not_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one Java: of another there is none, and what was cut off counts for nothing."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "release").write_text(name)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "one"))
    [option, _] = archive_options(tmp_path / "archives")
    made = option.removeprefix("-XX:ArchiveClassesAtExit=")
    Path(made).write_bytes(bytes(8))
    assert archive_options(tmp_path / "archives")[0] == option
    Path(made).write_bytes(b"\xf0\x0b\xab\xa8")
    assert archive_options(tmp_path / "archives")[0] == f"-XX:SharedArchiveFile={made}"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "other"))
    assert archive_options(tmp_path / "archives")[0].startswith("-XX:ArchiveClassesAtExit=")


@pytest.mark.long
def test_a_second_session_starts_with_the_classes_of_the_first(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert "ArchiveClassesAtExit" in first
    until(lambda: any(tmp_path.glob("*.jsa")), "no archive")
    second = run(tmp_path)
    assert "SharedArchiveFile" in second
    assert "warning" not in (first + second).lower()


def run(folder: Path) -> str:
    program = [sys.executable, "-c", PROGRAM, str(folder)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    assert ended.stdout.startswith("3 ")
    return ended.stdout + ended.stderr
