"""Values in quotes complete in IPython and Jupyter, once `%load_ext sooner` was said."""

import subprocess
import sys
from typing import Any

import pytest

import sooner
from sooner.completing import values_of
from sooner.how import KINDS

KNOWN: dict[str, Any] = {"sooner": sooner, "join": sooner.join, "pa": pytest, "q": object()}


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("sooner.join(a, b, on='k', algorithm=\"rp", ["rpj", "rpj_md", "rpj_dd"]),
        ("q = sooner.join(\n    f(a, [1]),\n    b,\n    algorithm = 'dine", ["diner"]),
        ("sooner.enrich(a, b, algorithm='mesh", ["meshjoin"]),
        ("sooner.multijoin({'a': a}, on='k', algorithm='mj", ["mjoin"]),
        ("join(a, b, how='ant", ["anti"]),
        ("sooner.join(a, f(how='", []),
        ("sooner.join(a, b, nothing='", []),
        ("sooner.nothing(how='", []),
        ("sooner.join(a, b, how=", []),
        ("q.join(how='", []),
        ("how='", []),
        ("[how='", []),
    ],
)
def test_the_values_that_can_follow(before: str, expected: list[str]) -> None:
    assert values_of(before, KNOWN) == expected


def test_all_kinds_and_algorithms_follow() -> None:
    assert {*KINDS} <= {*values_of("sooner.join(a, b, how='", KNOWN)}
    assert {*values_of("sooner.join(a, b, algorithm='", KNOWN)} == {"auto", *sooner.algorithms()}
    assert "ssbj" in values_of("sooner.enrich(a, b, algorithm='", KNOWN)


PROGRAM = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import sooner")
shell.run_line_magic("load_ext", "sooner")
shell.Completer.use_jedi = False
text = "sooner.join(a, b, how='se"
print(shell.complete(text, line=text, cursor_pos=len(text))[1])
"""


def test_ipython_completes_them() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert "'semi'" in ran.stdout.replace('"', "'"), ran.stderr
