"""Every command's help fits a screen and has an example that works when pasted; shells complete every command."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_state_commands import lane_with_a_state

from sooner.named_algorithms import ALGORITHMS
from sooner.ui.command_line import main
from sooner.ui.commands import COMMANDS, Command

LINES, COLUMNS = 40, 82


def leaves(commands: tuple[Command, ...], words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    for command in commands:
        if command.commands:
            yield from leaves(tuple(command.commands), (*words, command.name))
        else:
            yield (*words, command.name), command


ALL = dict(leaves(COMMANDS))
LONG = {("demo",)}
UNTIL_INTERRUPTED = {("dashboard",)}


@pytest.mark.parametrize("words", [(), ("lab",), ("state",), *ALL], ids=" ".join)
def test_help_fits_a_screen(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    if words in ALL:
        assert f"example:\n  {ALL[words].example}" in "\n".join(lines)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "words",
    [pytest.param(one, marks=[pytest.mark.long] if one in LONG else []) for one in ALL if one not in UNTIL_INTERRUPTED],
    ids=" ".join,
)
def test_an_example_works_when_it_is_pasted(words: tuple[str, ...], here: Path) -> None:
    if words != ("examples",):
        assert main(["examples"]) == 0
    if words[0] == "state":
        lane_with_a_state(here).plan.state  # noqa: B018 - made where the example looks for it
        (here / "state").rename(here / "join-state")
    command = f'sooner() {{ "{sys.executable}" -m sooner "$@"; }}\nset -e\n{ALL[words].example}'
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_example_of_a_page_that_is_there_until_it_is_interrupted(here: Path) -> None:
    assert main(["examples"]) == 0
    make, show = ALL["dashboard",].example.splitlines()
    assert subprocess.run([sys.executable, "-m", *make.split()]).returncode == 0
    with subprocess.Popen([sys.executable, "-m", *show.split()], stdout=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        assert page.stdout.readline().startswith("http://127.0.0.1:")
        page.send_signal(signal.SIGINT)
    assert page.returncode == 0
    assert (here / "j.csv").exists()


def script_for(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["la"], {"lab"}),
        (["lab", ""], {"compare", "list", "recheck", "run"}),
        (["join", "a", "b", "--how", ""], {"inner", "left", "right", "full", "semi", "anti"}),
        (["join", "--algorithm", "d"], {name for name in ALGORITHMS if name.startswith("d")}),
        (["completion", "b"], {"bash"}),
        (["shuffle", "--me"], {"--memory"}),
    ],
)
def test_bash_completes_commands_options_and_values(
    line: list[str], offered: set[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = " ".join(f"'{word}'" for word in ["sooner", *line])
    asked = f'COMP_WORDS=({words}); COMP_CWORD={len(line)}; _sooner; printf "%s\\n" "${{COMPREPLY[@]}}"'
    ran = subprocess.run(
        ["bash", "-c", script_for("bash", capsys) + asked], capture_output=True, text=True, check=True, cwd=here
    )
    assert {*ran.stdout.split()} >= offered
    assert not {*ran.stdout.split()} - offered - {"-h", "--help", "--scale", "--seed", "--seeds"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = script_for(shell, capsys)
    assert "multijoin" in script
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (here / "script").write_text(script)
    asked = ["-c", "source script; complete -C 'sooner mul'"] if shell == "fish" else ["-f", "-c", "source ./script"]
    ran = subprocess.run([shell, *asked], capture_output=True, text=True, cwd=here)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert shell == "zsh" or ran.stdout.startswith("multijoin\t")
