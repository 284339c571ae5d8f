"""The command and the library with nothing but what a plain install brings: numpy, pyarrow, xxhash."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import sooner
from patience import HANG_SECONDS

PLAIN = ("numpy", "numpy.libs", "numpy-*", "pyarrow", "pyarrow.libs", "pyarrow-*", "xxhash", "xxhash-*", "sooner-*")
FROM_A_CHECKOUT = "(in the checkout of sooner)"


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for packages with those of a plain install and no others."""
    plain = tmp_path_factory.mktemp("site-packages")
    installed = Path(numpy.__file__).parents[1]
    for found in (found for pattern in PLAIN for found in installed.glob(pattern)):
        (plain / found.name).symlink_to(found)
    (plain / "sooner").symlink_to(Path(sooner.__file__).parent)
    return plain


def run(site_packages: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python without its own place for packages."""
    environment = {**os.environ, "PYTHONPATH": str(site_packages)}
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)


def test_only_what_a_plain_install_brings_can_be_imported(site_packages: Path) -> None:
    look = "import importlib.util as u; print([u.find_spec(n) is not None for n in ('rich', 'pyspark', 'pyarrow')])"
    assert run(site_packages, "-c", look).stdout == "[False, False, True]\n"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("arguments", "shows"),
    [
        (["--version"], f"sooner {sooner.__version__}\n"),
        (["--help"], "usage: sooner"),
        (["algorithms"], "symmetric_hash   all in memory; never spills\n"),
        (["lab", "list"], "progress, reliable network"),
        (["demo", "--help"], "usage: sooner demo"),
    ],
    ids=["version", "help", "algorithms", "lab list", "help for the demo"],
)
def test_the_command_works_on_a_plain_install(site_packages: Path, arguments: list[str], shows: str) -> None:
    command = run(site_packages, "-m", "sooner", *arguments)
    assert (command.returncode, command.stderr) == (0, "")
    assert shows in command.stdout


SHORT = "from sooner.lab.races import rpj; rpj.ROWS = 200_000; from sooner.ui.command_line import main; main()"


def test_an_experiment_runs_on_a_plain_install_and_only_pictures_need_more(site_packages: Path, tmp_path: Path) -> None:
    report, page = tmp_path / "8a.json", tmp_path / "page.md"
    ran = run(site_packages, "-c", SHORT, "lab", "run", "rpj-8a", "--scale", "250", "--json", str(report))
    assert (ran.returncode, ran.stderr) == (0, "")
    for claim in json.loads(report.read_text())["claims"]:
        assert claim["what"] in ran.stdout
    refused = run(site_packages, "-m", "sooner", "results", str(report), "--to", str(page))
    cure = f"A page with pictures needs matplotlib; run: pip install '.[ui]' {FROM_A_CHECKOUT}"
    assert (refused.returncode, refused.stderr) == (1, f"sooner: {cure}\n")
    assert {*tmp_path.iterdir()} == {report}
    report.write_text(json.dumps(json.loads(report.read_text()) | {"series": {}}))
    wrote = run(site_packages, "-m", "sooner", "results", str(report), "--to", str(page))
    assert (wrote.returncode, wrote.stderr) == (0, "")
    assert "## rpj-8a" in page.read_text()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo"], f"The demo needs rich; run: pip install '.[demo]' {FROM_A_CHECKOUT}"),
        (["demo", "--picture", "x.png"], f"A picture needs matplotlib; run: pip install '.[ui]' {FROM_A_CHECKOUT}"),
        (
            ["lab", "run", "rpj-8a", "--plot", "x.png"],
            f"A picture needs matplotlib; run: pip install '.[ui]' {FROM_A_CHECKOUT}",
        ),
    ],
    ids=["demo", "demo with a picture", "plot"],
)
def test_what_needs_more_says_so_in_one_line(site_packages: Path, arguments: list[str], message: str) -> None:
    command = run(site_packages, "-m", "sooner", *arguments)
    assert (command.returncode, command.stdout, command.stderr) == (1, "", f"sooner: {message}\n")


JOIN = "import pyarrow as pa, sooner; q = sooner.join(pa.table({'k': [1]}), pa.table({'k': [1]}), on='k'); "


def test_a_missing_library_is_an_import_error_with_its_cure(site_packages: Path) -> None:
    cures = {
        "import sooner.spark": f"sooner.spark needs pyspark; run: pip install '.[spark]' {FROM_A_CHECKOUT}",
        JOIN + "q.to_pandas()": "Query.to_pandas() needs pandas; run: pip install pandas",
        JOIN + "q.to_polars()": "Query.to_polars() needs polars; run: pip install polars",
    }
    caught = "".join(f"try:\n  {one}\nexcept ImportError as e: print(type(e).__name__, e)\n" for one in cures)
    assert run(site_packages, "-c", caught).stdout.splitlines() == [f"MissingLibrary {cure}" for cure in cures.values()]


def test_a_reader_of_the_command_may_leave_early(site_packages: Path) -> None:
    command = subprocess.Popen(
        [sys.executable, "-S", "-m", "sooner", "lab", "list"],
        env={**os.environ, "PYTHONPATH": str(site_packages)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    command.stdout.close()
    _, complaints = command.communicate(timeout=HANG_SECONDS)
    assert complaints == b""
