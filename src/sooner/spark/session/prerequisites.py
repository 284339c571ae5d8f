"""What a session must be, and what its Python workers must have, before anything of ours runs in it.

Joins run inside the workers. Whether these can is known only by asking them: a tiny task for each core, once for a
session. What is missing is then said in a sentence, where Spark would give pages of Java in the middle of a query.

Not covered: executors that come later, on a node that has something else.
"""

import re
import shutil
import sys
from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import SparkSession

from sooner.spark.session.connect import UnfitSession, is_connect, require_same_version
from sooner.spark.session.workers import ask_workers

_FIT: Final[set[tuple[str, str]]] = set()  # applications and their Pythons that were asked, and had all
_OTHER_PYTHON: Final = re.compile(r"worker [^.]*?(\d+\.\d+) than that in driver[^.]*? (\d+\.\d+)")
_NO_START: Final = re.compile(r"(?:^\s*\w+Error: |IOException: (?=Cannot run))(.+)$", re.MULTILINE)
_NO_WORD: Final = "EOFException occurred while reading the port number"
Look = Callable[[], list[str]]  # finds a Python, where its sooner is, a digest of that, what is missing, was it sent


def require_fit_workers(spark: SparkSession) -> None:
    """Refuse a session whose workers run another Python, or one that lacks sooner or what sooner needs."""
    session = _known_as(spark)
    if session in _FIT:
        return
    if is_connect(spark):
        require_same_version(spark)
    else:
        _require_on_driver(spark)
    look = _looker()
    _, here, digest, *_ = look()
    for python, place, found, missing, sent in _asked(spark, look):
        trouble = None
        if missing:
            trouble = f"which lacks something that joins need ({missing})"
        elif found != digest:
            trouble = f"whose sooner, in {place}, is another than that of this program, in {here}"
        elif sent and is_connect(spark):  # classic sessions are shown it, see `sources/loading.py`
            trouble = "whose sooner was sent to it, which Spark Connect does not show to its streaming sources"
        if trouble is not None:
            raise UnfitSession(f"Spark's workers run {python}, {trouble}. {_cure(spark)}")
    _FIT.add(session)


def _known_as(spark: SparkSession) -> tuple[str, str]:
    if is_connect(spark):
        session: Any = spark
        return str(session.session_id), ""
    return spark.sparkContext.applicationId, spark.sparkContext.pythonExec


def _require_on_driver(spark: SparkSession) -> None:
    """Streaming sources run on the driver, in the Python of the workers."""
    python = spark.sparkContext.pythonExec
    if shutil.which(python) is None:
        raise UnfitSession(f"Spark also starts {python} on the driver, where it is missing. {_cure(spark)}")


def _looker() -> Look:
    """What a task does. It travels by value, and knows nothing of this module, which may not be there."""

    def look() -> list[str]:
        import hashlib
        import importlib
        import pathlib
        import platform
        import sys
        from importlib.resources import files

        python = f"{sys.executable} (Python {platform.python_version()})"
        digest = hashlib.blake2b(digest_size=8)

        def add(folder: Any) -> None:
            for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
                if entry.name.endswith(".py"):
                    digest.update(entry.read_bytes())
                elif entry.is_dir() and entry.name != "__pycache__":
                    add(entry)

        try:
            importlib.import_module("sooner.spark.step.step")  # and with it all that a step needs
            add(files("sooner"))
        except Exception as error:
            return [python, "", "", str(error), ""]
        place = pathlib.Path(str(sys.modules["sooner"].__file__)).parent
        root = getattr(getattr(sys.modules.get("pyspark.core.files"), "SparkFiles", None), "_root_directory", None)
        sent = root is not None and place.is_relative_to(root)  # only workers have it
        return [python, str(place), digest.hexdigest(), "", "sent" if sent else ""]

    return look


def _asked(spark: SparkSession, look: Look) -> list[list[str]]:
    try:
        return ask_workers(spark, look)
    except Exception as error:  # of Java or of Connect, as the session is
        if (cause := _cause_of_no_start(str(error))) is None:
            raise
        python = "their Python" if is_connect(spark) else spark.sparkContext.pythonExec
        raise UnfitSession(f"Spark's workers cannot run {python}: {cause} {_cure(spark)}") from None


def _cause_of_no_start(pages: str) -> str | None:
    """The one line of Java's pages that says why a Python did not start, if that is what they say."""
    if (versions := _OTHER_PYTHON.search(pages)) is not None:
        return f"it is Python {versions[1]}, and this program runs {versions[2]}."
    if _NO_WORD in pages:
        return "it ended before it could begin; does it have PySpark?"
    found = _NO_START.search(pages)
    return None if found is None else f"{found[1].rstrip('.')}."


def _cure(spark: SparkSession) -> str:
    if is_connect(spark):
        return (
            "Install the same sooner, and what it needs, for the Python that the Spark Connect server and its workers "
            "run (PYSPARK_PYTHON there); docs/deploy.md says more."
        )
    name = "the environment variable PYSPARK_PYTHON, or the setting spark.pyspark.python,"
    if str(spark.sparkContext.master).startswith("local"):
        return f"Set {name} to {sys.executable} before the session starts."
    return (
        "Have the same sooner, and what it needs, on every node (docs/deploy.md says how it gets there), and set "
        f"{name} to a path that has such a Python on all of them and on the driver, before the session starts."
    )
