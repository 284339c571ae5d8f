"""One mutation on trial: a copy of the source tree gets the fault, and the tests that should notice run there."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mutations.mutation import Mutation, StaleError

ROOT: Final = Path(__file__).parents[2]
NOT_COPIED: Final = shutil.ignore_patterns(".*", "build", "dist")
SECONDS: Final = 600  # tests that take longer hang
FAST: Final = ("-m", "not long")  # as `make test` has it
Outcome = Literal["caught", "survived", "stale", "broken", "hung"]
OUTCOMES: Final[dict[int, Outcome]] = {0: "survived", 1: "caught"}  # by what pytest returns


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    seconds: float
    details: str


def try_mutation(mutation: Mutation, *, all_tests: bool = False) -> Verdict:
    """Run the tests that are named, or all that `make test` runs, against a copy with the fault."""
    started = time.monotonic()
    with _copied_tree() as root:
        try:
            changed = mutation.apply(root)
        except StaleError as stale:
            return Verdict("stale", time.monotonic() - started, str(stale))
        if changed.suffix == ".c":
            _compile(changed)
        outcome, output = run_tests(root, () if all_tests else mutation.tests)
    return Verdict(outcome, time.monotonic() - started, output)


def try_without_mutation(mutations: Sequence[Mutation]) -> Verdict:
    """Run all tests that mutations name against a copy without a fault: whoever fails there catches nothing."""
    started = time.monotonic()
    with _copied_tree() as root:
        tests = dict.fromkeys(test for mutation in mutations for test in mutation.tests)
        outcome, output = run_tests(root, tuple(tests))
    return Verdict(outcome, time.monotonic() - started, output)


def run_tests(root: Path, tests: Sequence[str]) -> tuple[Outcome, str]:
    options = [*FAST, "-x", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{one}" for one in tests)]
    before = os.environ.get("PYTHONPATH")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(root / "src"), before]))}
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "hung", f"The tests did not end within {SECONDS} s."
    return OUTCOMES.get(done.returncode, "broken"), done.stdout + done.stderr


@contextmanager
def _copied_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sooner-mutation-") as directory:
        root = Path(directory) / "sooner"
        shutil.copytree(ROOT, root, ignore=NOT_COPIED)
        yield root


def _compile(source: Path) -> None:
    """Compile the loops beside their source, with less optimization than setup.py: it takes half the time."""
    flags = ["-O1", "-std=c11", "-shared", "-fPIC", "-fno-sanitize=undefined"]
    command = [sys.executable, "-m", "ziglang", "cc", *flags, "-o", str(source.with_suffix(".so")), str(source)]
    subprocess.run(command, check=True, capture_output=True)
