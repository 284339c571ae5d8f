"""Whether a wheel can be released: python release_check.py FOLDER

It is installed in an environment of its own, with no compiler in sight, and used there: in process and on Spark.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
NEEDED = ("sooner/kernels/native/kernels.so", "sooner/py.typed", "licenses/LICENSE")
IN_PROCESS = """
import pyarrow as pa, sooner
orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
assert sooner.join(orders, customers, on="customer").to_table().num_rows == 3
print(sooner.__version__)
"""
ON_SPARK = """
import sys, pyarrow as pa, pyarrow.parquet as pq, sooner.spark as ss
folder = sys.argv[1]
for name in ("left", "right"):
    pq.write_table(pa.table({"key": list(range(1000)), name: list(range(1000))}), f"{folder}/{name}.parquet")
spark = ss.local_session("local[2]")
left, right = (ss.sources.parquet(spark, f"{folder}/{name}.parquet") for name in ("left", "right"))
joined = ss.join(left, right, on="key", state=f"{folder}/state")
writer = ss.sinks.parquet(joined, f"{folder}/out").option("checkpointLocation", f"{folder}/log")
query = ss.start(writer)
query.awaitTermination()
assert query.is_complete
print(spark.read.parquet(f"{folder}/out").count())
"""


def main(folder: Path) -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    changes = re.findall(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    require(changes[:1] == [version], f"CHANGELOG.md begins with {changes[:1]}, and pyproject.toml says {version}")
    wheels = list(folder.glob("*.whl"))
    require(len(wheels) == 1, f"{folder} has {len(wheels)} wheels; one is checked")
    require_whole(wheels[0], version)
    with tempfile.TemporaryDirectory(prefix="sooner-release-") as name:
        python = installed(wheels[0], Path(name))
        require(run(python, "-c", IN_PROCESS).strip() == version, "another version is installed")
        require(
            run(python, "-m", "sooner", "--version").strip() == f"sooner {version}", "the command is of another one"
        )
        require(run(python, "-c", ON_SPARK, name).split()[-1] == "1000", "Spark gives other rows")
    sys.stdout.write(f"{wheels[0].name} can be released\n")


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        sys.exit(f"This cannot be released: {otherwise}.")


def require_whole(wheel: Path, version: str) -> None:
    tag = r"py3-none-(manylinux_2_17|macosx|win)\w*"
    require(
        re.fullmatch(rf"sooner-{re.escape(version)}-{tag}\.whl", wheel.name) is not None, f"{wheel.name} is its name"
    )
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
    for needed in NEEDED:
        require(any(name.endswith(needed) for name in names), f"{needed} is not in the wheel")
    strangers = [name for name in names if not name.startswith(("sooner/", f"sooner-{version}.dist-info/"))]
    require(not strangers, f"{strangers[:3]} are in the wheel")


def installed(wheel: Path, folder: Path) -> Path:
    """The Python of a new environment that has the wheel and what it needs for Spark."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    extras = "spark" if shutil.which("java") or "JAVA_HOME" in os.environ else "spark,java"
    quiet = "--quiet", "--disable-pip-version-check", "--constraint", str(PROJECT / "constraints.txt")
    run(python, "-m", "pip", "install", *quiet, "--only-binary", "sooner", f"{wheel.resolve()}[{extras}]")
    return python


def run(python: Path, *arguments: str) -> str:
    """Where neither a compiler nor this checkout is found."""
    java = shutil.which("java")
    path = [str(python.parent), *([str(Path(java).parent)] if java else [])]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PATH": os.pathsep.join([*path, "/usr/bin", "/bin"]), "CC": "false"}
    done = subprocess.run([python, *arguments], env=environment, capture_output=True, text=True, cwd=python.parent)
    require(done.returncode == 0, f"{' '.join(arguments)[:60]} fails:\n{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
