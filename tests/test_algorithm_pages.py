"""The pages of algorithms: one for each, with the figures of today, and files and pictures that are there."""

import re
from pathlib import Path

import pytest
from algorithm_figures import with_figures

from pages import DOCS, ROOT
from sooner.asked.multijoins import MULTI_ALGORITHMS
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.plans.algorithms import PLAN_ALGORITHMS

PAGES = {page.stem: page for page in (DOCS / "algorithms").glob("*.md")}
PAPERS = {"grace", "agf", "state-spill", "meshjoin", "ssbj", "mjoin", "miner", "diner", "rpj", "hmj", "xjoin", "pmj"}
SAMPLES = {"pr-join", "ripple", "hash-ripple", "sms", "dbo"}
VARIANTS = {"hmj_all", "hmj_smallest", "hmj_largest", "rpj_md", "rpj_dd"}  # on the pages of those that they vary
OWN = {"symmetric_hash", "random"}  # a bound from above, and one from below


def test_each_algorithm_has_a_page_that_the_guide_links_to() -> None:
    assert set(PAGES) == PAPERS | SAMPLES
    guide = (DOCS / "guides" / "algorithms.md").read_text()
    for name in PAGES:
        assert f"](../algorithms/{name}.md)" in guide
    known = {*ALGORITHMS, *MULTI_ALGORITHMS, *PLAN_ALGORITHMS} - VARIANTS - OWN
    assert {name.replace("_", "-") for name in known} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_quotes_what_the_results_say_today(page: Path) -> None:
    text = page.read_text()
    assert text.count("<!-- figures") == 1
    assert text == with_figures(text), "run `python docs/making/algorithm_figures.py`"


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", page.read_text())
    folders = [ROOT / "src" / "sooner"]
    for one in named:
        found = [folder for folder in folders if (folder / one).exists()]
        assert found, f"{page.name} names {one}"
        folders.append((found[-1] / one).parent)  # what follows may be named within the folder of the one before


def test_variants_are_on_the_pages_of_what_they_vary() -> None:
    for name in VARIANTS:
        assert f"`{name}`" in PAGES[name.partition("_")[0]].read_text()
