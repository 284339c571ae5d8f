"""`sooner doctor`: what is missing, what goes a slower way, and an exit code for what is needed."""

import sys
from pathlib import Path

import pytest

from sooner.ui import machine_findings, spark_findings
from sooner.ui.command_line import main


def said_of(what: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    exit_code = main(["doctor"])
    return [str(exit_code), *(line for line in capsys.readouterr().out.splitlines() if line.startswith(what))]


def test_a_machine_that_has_all_is_fine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    for what in ("Python ", "sooner", "pyarrow", "Spark", "Java", "Python of Spark's workers", "fork server"):
        exit_code, line, *_ = said_of(what, capsys)
        assert exit_code == "0"
        assert " ok " in line


def test_a_java_that_is_not_there_is_missing_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    exit_code, found, cure = said_of("Java", capsys)
    assert exit_code == "1"
    assert "MISSING" in found
    assert "install Java 17 or newer and set JAVA_HOME" in cure


def test_a_java_that_is_too_old_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    exit_code, found, _ = said_of("Java", capsys)
    assert (exit_code, "11.0.2" in found) == ("1", True)


def test_another_python_for_the_workers_is_missing_what_joins_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    exit_code, found, cure = said_of("Python of Spark's workers", capsys)
    assert (exit_code, "MISSING" in found) == ("1", True)
    assert f"set PYSPARK_PYTHON to {sys.executable}" in cure


def test_what_falls_back_is_told_and_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine_findings, "DEFAULT_MEMORY", 2**60)
    monkeypatch.setattr(machine_findings, "trouble_with", lambda _: "nothing can be kept in /dev/shm")
    monkeypatch.setattr(spark_findings.sys, "platform", "darwin")
    for what in ("memory", "shared memory", "disk for spilling", "fork server"):
        exit_code, found, *_ = said_of(what, capsys)
        assert (exit_code, " slower " in found) == ("0", True)


def test_an_absent_extra_is_no_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(machine_findings, "EXTRAS", (("no_such_library", "ui", "pictures"),))
    exit_code, found, cure = said_of("no_such_library", capsys)
    assert (exit_code, " absent " in found) == ("0", True)
    assert "pip install '.[ui]'" in cure


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PySpark leaves a pipe to Java open
def test_spark_is_started_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--spark"]) == 0
    assert any(line.startswith("a join on Spark") and " ok " in line for line in capsys.readouterr().out.splitlines())
