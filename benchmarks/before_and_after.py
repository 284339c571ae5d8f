"""Whether a change made anything slower or larger: this checkout beside another one, in turn, in one run.

    git worktree add ../before v0.1.0
    python benchmarks/before_and_after.py ../before --json results.json

Each figure is taken in a process of its own, first by the other checkout and then by this one, several times; ratios
are of medians. A figure may be 3% worse. The other checkout needs its compiled loops: run `make setup` there once.
With `--spark`, the benchmark of Spark joins runs by each in turn as well, which takes a quarter of an hour.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory import CASES
from report import write_report

from local import SHAPES, first_result_after_import, write_inputs

HERE = Path(__file__).parents[1]
BAR = 1.03
ROWS = 5_000_000
ENGINES = {"integers": ["sooner", "sooner_10_percent", "sooner_100MB", "sooner_10_percent:pr_join"]}
IMPORT_BAR_SECONDS = 0.30
Figures = dict[str, list[float]]


def by(checkout: Path, script: str, *arguments: object) -> dict[str, Any]:
    """What a script of this checkout says when the product is that of another."""
    command = [sys.executable, str(HERE / "benchmarks" / script), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def local_figures(checkout: Path, folder: Path, engine: str) -> dict[str, float]:
    found = by(checkout, "local.py", "--engine", engine, "--folder", folder, "--rows", ROWS, "--how", "inner")
    return {"seconds": found["seconds"]["100%"], "CPU seconds": found["cpu_seconds"], "RSS": found["rss_bytes"]}


def in_turn(checkouts: Sequence[Path], repetitions: int, shapes: Sequence[str], cases: Sequence[str]) -> list[Figures]:
    """The figures of each checkout, by their names."""
    figures: list[Figures] = [{} for _ in checkouts]

    def note(which: int, what: str, found: dict[str, float]) -> None:
        for name, value in found.items():
            figures[which].setdefault(f"{what}: {name}", []).append(value)

    for shape in shapes:
        with tempfile.TemporaryDirectory() as folder:
            write_inputs(Path(folder), ROWS, shape)
            for _ in range(repetitions):
                for engine in ENGINES.get(shape, ["sooner"]):
                    for which, checkout in enumerate(checkouts):
                        note(which, f"{shape}, {engine}", local_figures(checkout, Path(folder), engine))
                if shape == "integers":
                    for which, checkout in enumerate(checkouts):
                        os.environ["PYTHONPATH"] = str(checkout / "src")
                        note(which, "first result after import", {"seconds": first_result_after_import(Path(folder))})
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            CASES[case].write(Path(folder))
            for _ in range(repetitions):
                for which, checkout in enumerate(checkouts):
                    found = by(checkout, "memory.py", "--case", case, "--folder", folder)
                    note(which, f"memory, {case}", {"peak MB": found["peak_mb"]})
    return figures


def spark_figures(checkouts: Sequence[Path], repetitions: int) -> list[Figures]:
    figures: list[Figures] = [{} for _ in checkouts]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repetitions):
            for which, checkout in enumerate(checkouts):
                file = Path(folder) / "found.json"
                script = checkout / "benchmarks" / "spark_join.py"  # its own: modules may have moved
                command = [sys.executable, str(script), "--no-peers", "--rounds", "1"]
                environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
                subprocess.run([*command, "--json", str(file)], check=True, env=environment, stdout=sys.stderr)
                for name, rounds in json.loads(file.read_text())["series"]["batch_seconds"].items():
                    figures[which].setdefault(f"{name}: seconds a batch", []).append(statistics.mean(rounds[0]))
    return figures


def claims(before: Figures, after: Figures) -> list[dict[str, Any]]:
    found = []
    for what in before:
        ratio = statistics.median(after[what]) / statistics.median(before[what])
        found.append({"what": what, "expected": f"<= {BAR}", "ours": round(ratio, 3), "holds": ratio <= BAR})
    for what in (name for name in after if name.startswith("first result after import")):
        seconds = statistics.median(after[what])
        bar, holds = f"<= {IMPORT_BAR_SECONDS}", seconds <= IMPORT_BAR_SECONDS
        found.append({"what": f"{what}, of this checkout", "expected": bar, "ours": round(seconds, 3), "holds": holds})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=["integers", "texts", "foreign_key", "wide"])
    parser.add_argument("--cases", nargs="*", choices=CASES, default=["narrow", "wide", "hot"])
    parser.add_argument("--spark", action="store_true", help="joins on Spark as well")
    arguments = parser.parse_args()
    checkouts = (arguments.before.resolve(), HERE)
    figures = in_turn(checkouts, arguments.repetitions, arguments.shapes, arguments.cases)
    if arguments.spark:
        for mine, more in zip(figures, spark_figures(checkouts, arguments.repetitions), strict=True):
            mine |= more
    found = claims(*figures)
    for one in found:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")
    if arguments.json:
        series = {"before": figures[0], "after": figures[1]}
        write_report(arguments.json, "before_and_after", "before and after a change", found, series)


if __name__ == "__main__":
    main()
