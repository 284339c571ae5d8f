"""Processes that check cases, and what becomes of those that die or hang."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import IO

CASE_SECONDS = 120.0  # far more than any takes
REPORT_LINES = 25


class Worker:
    """One process; another takes its place when it is gone."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[str] | None = None
        self._said: IO[str] | None = None

    def wrong_with(self, name: str, seed: int) -> str | None:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{name} {seed}\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], CASE_SECONDS)
            answer = process.stdout.readline() if ready else None
        except BrokenPipeError:
            answer = ""
        if answer:
            report: str | None = json.loads(answer)
            return report
        return self._buried("HANGS" if answer is None else "DIED")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._said is not None:
            self._said.close()

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process lives
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                env=self._environment, text=True,
            )  # fmt: skip
        return self._process

    def _buried(self, how: str) -> str:
        """What it said at its end; of one that hangs, where its threads are."""
        process, said = self._process, self._said
        assert process is not None and said is not None
        if how == "HANGS":
            process.send_signal(signal.SIGABRT)
        process.communicate()
        self._process = None
        said.seek(0)
        lines = said.read().splitlines()
        said.close()
        return "\n".join([f"{how} (exit code {process.returncode})", *lines[:REPORT_LINES]])
