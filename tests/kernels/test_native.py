"""The compiled loops are found wherever the package is: in a directory, in a zip as Spark ships it, or not at all."""

import shutil
import subprocess
import sys
from pathlib import Path

import sooner
from sooner.kernels.native import LIBRARY

PACKAGE = Path(sooner.__file__).parent
JOIN = """
import sys; sys.path.insert(0, sys.argv[1])
import pyarrow as pa, sooner
assert sooner.__file__.startswith(sys.argv[1]), sooner.__file__
table = pa.table({"k": range(3_000), "text": [str(i) for i in range(3_000)]})
print(sooner.join(table, table.select(["k"]), on="k").to_table().num_rows)
"""


def joined_with(package: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", JOIN, str(package)], capture_output=True, text=True)


def test_from_a_zip(tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "sooner"), "zip", PACKAGE.parent, PACKAGE.name)
    done = joined_with(Path(packed))
    assert done.stdout == "3000\n", done.stderr


def test_without_it_the_cure_is_told(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "sooner", ignore=shutil.ignore_patterns(LIBRARY, "__pycache__"))
    done = joined_with(tmp_path)
    assert done.returncode == 1
    assert "MissingLibrary: The compiled part of sooner (kernels.so) is not here" in done.stderr
