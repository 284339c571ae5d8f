"""Mutations fit the product: each finds its text once, and the tests that it names are there."""

from pathlib import Path

import pytest

from mutations import MUTATIONS
from mutations.mutation import Mutation, StaleError
from mutations.trial import ROOT

FAULT = Mutation("fault", "old.py", old="1 + 1", new="1 + 2", breaks="A sum is wrong.", tests=())


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 60


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_fits_the_product_and_names_tests(mutation: Mutation) -> None:
    assert mutation.find(ROOT).is_file()
    assert mutation.new != mutation.old
    assert mutation.tests
    for test in mutation.tests:
        file, _, function = test.partition("::")
        assert f"def {function}" in (ROOT / "tests" / file).read_text()


def product(root: Path, **files: str) -> Path:
    package = root / "src" / "sooner"
    package.mkdir(parents=True)
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    return package


def test_a_fault_is_put_where_the_text_is_or_has_moved_to(tmp_path: Path) -> None:
    package = product(tmp_path, old="nothing", new="x = 1 + 1")
    assert FAULT.apply(tmp_path) == package / "new.py"
    assert (package / "new.py").read_text() == "x = 1 + 2"


@pytest.mark.parametrize("text", ["x = 2", "x = 1 + 1, 1 + 1"])
def test_a_text_that_is_gone_or_there_twice_is_stale(tmp_path: Path, text: str) -> None:
    product(tmp_path, old=text)
    with pytest.raises(StaleError, match=r"occurs (0|2) times"):
        FAULT.apply(tmp_path)
