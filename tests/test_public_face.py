"""What a user sees first: names to complete, a version, a command, and an import that does not make one wait."""

import inspect
import subprocess
import sys
from functools import reduce
from importlib import import_module
from importlib.metadata import version
from operator import or_
from typing import Literal, get_args, get_type_hints

import pytest

import sooner
import sooner.spark
from sooner.asked.choosing_algorithm import AskedAlgorithm
from sooner.asked.multijoins import MultiAlgorithmName
from sooner.extras import numbers_of, require_at_least
from sooner.how import KINDS, How, kind_of
from sooner.named_algorithms import ALGORITHMS, Algorithm, AlgorithmName

PACKAGES = ["sooner", "sooner.sources", "sooner.spark", "sooner.spark.sources", "sooner.spark.sinks"]


@pytest.mark.parametrize("package", PACKAGES)
def test_completion_shows_the_whole_api(package: str) -> None:
    module = import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name, member in inspect.getmembers(module):
        assert member is getattr(module, name)


@pytest.mark.parametrize("package", ["sooner", "sooner.spark", "sooner.spark.sources", "sooner.spark.sinks"])
def test_completion_shows_nothing_but_the_api(package: str) -> None:
    module = import_module(package)
    shown = {name for name in dir(module) if not name.startswith("__")}
    assert shown == set(module.__all__) - {"__version__"}


def test_what_lacks_its_library_is_not_shown_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    from sooner.spark import sources

    assert "postgres" not in dir(sources)
    assert "parquet" in dir(sources)
    with pytest.raises(sooner.MissingLibrary, match=r"postgres needs psycopg; run: pip install '\.\[postgres\]'"):
        sources.postgres  # noqa: B018


def test_a_library_that_is_too_old_is_refused_before_it_is_imported() -> None:
    require_at_least("1.0", "pyarrow", "it")
    require_at_least("1.0", "no-such-library", "it")  # a vendor may call it otherwise
    refused = r"sooner.spark needs pyarrow 999.2 or newer, and .* is here; run: pip install 'pyarrow>=999.2'"
    with pytest.raises(sooner.MissingLibrary, match=refused):
        require_at_least("999.2", "pyarrow", "sooner.spark")
    assert numbers_of("3.5.1+of.a.vendor") == [3, 5]


def test_the_version_is_that_of_the_package() -> None:
    assert sooner.__version__ == version("sooner")


@pytest.mark.parametrize("option", [["--version"], ["algorithms"]])
def test_python_m_sooner_is_the_command(option: list[str]) -> None:
    command = subprocess.run([sys.executable, "-m", "sooner", *option], capture_output=True, text=True)
    assert (command.returncode, command.stderr) == (0, "")
    assert command.stdout.startswith(f"sooner {version('sooner')}\n" if option == ["--version"] else "algorithm ")


def test_editors_know_all_algorithms_and_kinds_of_join() -> None:
    assert get_args(AlgorithmName) == sooner.algorithms() == tuple(ALGORITHMS)
    for join in (sooner.join, sooner.spark.join):
        hints = get_type_hints(join)
        assert hints["how"] == How
    assert AskedAlgorithm == AlgorithmName | Literal["auto"] | Algorithm
    for asking in (sooner.join, sooner.estimate, sooner.sql, sooner.spark.join, sooner.spark.estimate):
        of_many = [MultiAlgorithmName] if asking is sooner.sql else []
        assert get_type_hints(asking)["algorithm"] == reduce(or_, of_many, AskedAlgorithm)
        assert inspect.signature(asking).parameters["algorithm"].default == "auto"
    assert {kind_of(how).name for how in get_args(How)} == {*KINDS} <= {*get_args(How)}


def test_the_function_algorithms_is_not_hidden_by_a_module() -> None:
    assert callable(sooner.algorithms)
    with pytest.raises(ModuleNotFoundError):
        import_module("sooner.algorithms")


def test_importing_sooner_loads_nothing_that_it_can_do_without() -> None:
    look = "import sys, sooner; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert "sooner" in loaded
    heavy = {"importlib.metadata", "pandas", "polars", "pyarrow", "pyspark", "rich", "sooner.local", "sooner.ui"}
    assert not heavy & set(loaded)
