"""`python -m fuzz`: many cases by two processes, or one case by its seed."""

import argparse
import itertools
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

from fuzz import sanitizers
from fuzz.families import FAMILIES, family
from fuzz.trial import command, wrong_with
from fuzz.workers import Worker

EVERY = 500  # cases, there is a line
MANY = 20  # failures are enough for once


def main() -> int:
    options = _options()
    if options.seed is not None:
        return _one(options.family or list(FAMILIES), options.seed)
    first = SystemRandom().randrange(10**6) * 1000 if options.first is None else options.first
    with tempfile.TemporaryDirectory(prefix="sooner-fuzz-") as directory:
        sanitized = sanitizers.environment(Path(directory))
        _say(f"seeds from {first} on; half of the cases on {sanitized.says}")
        run = _Run(options.family or list(FAMILIES), first, options.seconds, options.cases)
        run.by([Worker({}), Worker(sanitized.variables)][: options.processes])
    return 1 if run.wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--cases", type=int, help="how many at most")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only these")
    parser.add_argument("--first", type=int, help="the first seed; by default a random one")
    parser.add_argument("--seed", type=int, help="the case of this seed alone")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2, help="the second one has sanitizers")
    return parser.parse_args()


def _one(names: list[str], seed: int) -> int:
    reports = [wrong_with(name, seed) for name in names]
    for name, report in zip(names, reports, strict=True):
        of = family(name)
        _say(f"{name} {seed}: {'right' if report is None else report}")
        if report is None:
            _say(of.shown(of.case(seed)))
    return 1 if any(reports) else 0


class _Run:
    """Cases of all families in turn, until the time is over."""

    def __init__(self, names: list[str], first: int, seconds: float, cases: int | None) -> None:
        self._began = time.monotonic()
        self._until = self._began + seconds
        self._seeds = self._in_turn(names, first, cases)
        self._lock = threading.Lock()
        self._checked: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self.wrong = 0

    def by(self, workers: list[Worker]) -> None:
        threads = [threading.Thread(target=self._work, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._tell()

    def _in_turn(self, names: list[str], first: int, cases: int | None) -> Iterator[tuple[str, int]]:
        seeds = ((name, seed) for seed in itertools.count(first) for name in names)
        for name, seed in itertools.islice(seeds, cases):
            if time.monotonic() > self._until or self.wrong >= MANY:
                return
            yield name, seed

    def _work(self, worker: Worker) -> None:
        while True:
            with self._lock:
                told = next(self._seeds, None)
            if told is None:
                return worker.close()
            began = time.monotonic()
            report = worker.wrong_with(*told)
            with self._lock:
                self._checked[told[0]] += 1
                self._seconds[told[0]] += time.monotonic() - began  # type: ignore[assignment]
                if report is not None:
                    self.wrong += 1
                    again = "" if command(*told) in report else f"\n\nAgain: {command(*told)}"
                    _say(f"\n--- {told[0]} {told[1]} ---\n{report}{again}\n")
                if self._checked.total() % EVERY == 0:
                    self._tell()

    def _tell(self) -> None:
        each = ", ".join(
            f"{name} {cases:,} ({1000 * self._seconds[name] / cases:.0f} ms)" for name, cases in self._checked.items()
        )
        seconds = time.monotonic() - self._began
        _say(f"{self._checked.total():,} cases in {seconds:.0f} s: {each}; {self.wrong} wrong")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - it is a command


if __name__ == "__main__":
    sys.exit(main())
