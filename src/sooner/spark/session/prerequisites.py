"""What a session must be, and what its Python workers must have, before anything of ours runs in it.

Joins run inside the workers. Whether these can is known only by asking them: a tiny task for each core, once for a
session. What is missing is then said in a sentence, where Spark would give pages of Java in the middle of a query.

Not covered: executors that come later, on a node that has something else.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sooner.errors import SoonerError

_FIT: Final[set[tuple[str, str]]] = set()  # applications and their Pythons that were asked, and had all
_OTHER_PYTHON: Final = re.compile(r"worker [^.]*?(\d+\.\d+) than that in driver[^.]*? (\d+\.\d+)")
_NO_START: Final = re.compile(r"(?:^\s*\w+Error: |IOException: (?=Cannot run))(.+)$", re.MULTILINE)
_NO_WORD: Final = "EOFException occurred while reading the port number"
Found = tuple[str, str, str, str]  # a Python, where its sooner is, a digest of that, and what is missing


class UnfitSession(SoonerError):  # noqa: N818
    """Nothing of sooner can run in this Spark session: it must be started in another way."""


def require_classic(name: str, value: DataFrame | SparkSession) -> None:
    """Refuse what belongs to Spark Connect: there, a program has neither the plan nor the Java of its queries."""
    if type(value).__module__.startswith("pyspark.sql.connect."):
        raise UnfitSession(
            f"{name} belongs to a Spark Connect session, and joins need a classic one: start it with "
            "SparkSession.builder.master(...), without remote(...) and without SPARK_REMOTE, or submit the program."
        )


def require_fit_workers(spark: SparkSession) -> None:
    """Refuse a session whose workers run another Python, or one that lacks sooner or what sooner needs."""
    context = spark.sparkContext
    session = context.applicationId, context.pythonExec
    if session in _FIT:
        return
    _require_on_driver(context)
    look = _looker()
    here = next(look(()))
    for there in _asked(context, look):
        if (trouble := _trouble(there, here)) is not None:
            raise UnfitSession(f"Spark's workers run {there[0]}, {trouble}. {_cure(context)}")
    _FIT.add(session)


def _require_on_driver(context: SparkContext) -> None:
    """Streaming sources run on the driver, in the Python of the workers."""
    if shutil.which(context.pythonExec) is None:
        raise UnfitSession(
            f"Spark also starts {context.pythonExec} on the driver, where it is missing. {_cure(context)}"
        )


def _looker() -> Callable[[Iterable[int]], Iterator[Found]]:
    """What a task does. It travels by value, and knows nothing of this module, which may not be there."""

    def look(_: Iterable[int]) -> Iterator[tuple[str, str, str, str]]:
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
            yield python, "", "", str(error)
        else:
            place = pathlib.Path(str(sys.modules["sooner"].__file__)).parent
            yield python, str(place), digest.hexdigest(), ""

    return look


def _asked(context: SparkContext, look: Callable[[Iterable[int]], Iterator[Found]]) -> list[Found]:
    """What the workers found, as many of them as work at once."""
    tasks = context.defaultParallelism
    try:
        found: list[Found] = context.parallelize(range(tasks), tasks).mapPartitions(look).collect()
    except (PySparkException, Py4JError) as error:
        if (cause := _cause_of_no_start(str(error))) is None:
            raise
        raise UnfitSession(f"Spark's workers cannot run {context.pythonExec}: {cause} {_cure(context)}") from None
    return found


def _trouble(there: Found, here: Found) -> str | None:
    _, place, digest, missing = there
    if missing:
        return f"which lacks something that joins need ({missing})"
    if digest != here[2]:
        return f"whose sooner, in {place}, is another than that of this program, in {here[1]}"
    return None


def _cause_of_no_start(pages: str) -> str | None:
    """The one line of Java's pages that says why a Python did not start, if that is what they say."""
    if (versions := _OTHER_PYTHON.search(pages)) is not None:
        return f"it is Python {versions[1]}, and this program runs {versions[2]}."
    if _NO_WORD in pages:
        return "it ended before it could begin; does it have PySpark?"
    found = _NO_START.search(pages)
    return None if found is None else f"{found[1].rstrip('.')}."


def _cure(context: SparkContext) -> str:
    name = "the environment variable PYSPARK_PYTHON, or the setting spark.pyspark.python,"
    if str(context.master).startswith("local"):
        return f"Set {name} to {sys.executable} before the session starts."
    return (
        "Have the same sooner, and what it needs, on every node (docs/deploy.md says how it gets there), and set "
        f"{name} to a path that has such a Python on all of them and on the driver, before the session starts."
    )
