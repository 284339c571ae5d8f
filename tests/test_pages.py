"""The code on every page of the docs runs as it stands there, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

from page_settings import ELSEWHERE, setting_of
from pages import KINDS, PAGES, ROOT, blocks, is_on_spark, run_page

IN_PROCESS = [page for page in PAGES if blocks(page) and not is_on_spark(page)]


@pytest.mark.filterwarnings("default")  # what other libraries warn of is not ours
@pytest.mark.parametrize("page", IN_PROCESS)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    run_page(page, tmp_path, setting_of(page, tmp_path), tuple(ELSEWHERE))


@pytest.mark.parametrize("page", PAGES)
def test_blocks_say_what_they_are(page: str) -> None:
    for block in blocks(page):
        assert block.language in KINDS[:-1], f"{page}:{block.line} has {block.language!r}, and is {' or '.join(KINDS)}"


def test_what_is_run_elsewhere_is_there_and_so_is_its_test() -> None:
    shown = [block.code for page in PAGES for block in blocks(page)]
    for first_words, test in ELSEWHERE.items():
        assert any(code.startswith(first_words) for code in shown), f"no block begins with {first_words!r} any more"
        assert (ROOT / test).is_file()


def test_targets_of_make_that_pages_name_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, file in PAGES.items():
        commands = "".join(block.code for block in blocks(page) if block.language == "sh")
        named = {
            *re.findall(r"^make ([a-z-]+)", commands, re.MULTILINE),
            *re.findall(r"`make ([a-z-]+)", file.read_text()),
        }
        assert named <= targets, f"{page} names {named - targets}"


def test_the_operator_in_200_lines_is_no_longer() -> None:
    page = PAGES["docs/operators.md"].read_text()
    [shown] = re.findall(r"`(tests/\w+\.py)` is a whole operator in less than 200 lines", page)
    assert len((ROOT / shown).read_text().splitlines()) < 200


@pytest.mark.parametrize("page", [page for page in PAGES if page.endswith(".md")])
def test_links_lead_somewhere(page: str) -> None:
    words = re.sub(r"```.*?```|`[^`\n]*`", "", PAGES[page].read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", words):
        assert target.startswith("http") or (PAGES[page].parent / target).exists(), f"{page} links to {target}"
