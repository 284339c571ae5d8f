"""Every public name has a docstring with an example, and what it says comes out."""

import doctest
import inspect
from pathlib import Path
from typing import Any

import pytest

import sooner
import sooner.spark

PLAIN = {"__version__"}  # a text
PUBLIC = [name for name in sooner.__all__ if name not in PLAIN]


def shown_in(thing: Any, name: str) -> doctest.DocTest:
    docstring = inspect.getdoc(thing) or ""
    return doctest.DocTestParser().get_doctest(docstring, {}, name, None, 0)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example_that_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = shown_in(getattr(sooner, name), name)
    assert test.examples, f"{name} has no example"
    said: list[str] = []
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not found.failed, "".join(said)


@pytest.mark.parametrize("name", sooner.spark.__all__)
def test_a_public_name_of_spark_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(sooner.spark, name))
