"""The command `sooner completion`: a script by which a shell completes commands, options and their values.

It is made from the parsers themselves, and knows them all by heart: to complete a word no Python is started.
"""

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple

SHELLS: Final = ("bash", "zsh", "fish")


class Level(NamedTuple):
    """What can follow the words of a command."""

    words: tuple[str, ...]
    commands: dict[str, str]  # with what they do
    options: dict[str, str]
    values: dict[str, tuple[str, ...]]  # that an option takes, where there are only so many


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from sooner.ui.command_line import command_parser

    levels = list(_levels(command_parser(), ()))
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](levels))
    return 0


def _levels(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[Level]:
    prepare = getattr(parser, "prepare", None)
    if prepare is not None:
        prepare()
    commands: dict[str, str] = {}
    options: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    inside: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands = {one.dest: str(one.help) for one in action._choices_actions}
            inside = list(action.choices.items())
            continue
        choices = () if action.choices is None else tuple(map(str, action.choices))
        if not action.option_strings:  # a word that stands for itself, such as the name of a shell
            commands |= dict.fromkeys(choices, "")
        for option in action.option_strings:
            options[option] = str(action.help or "").replace("%%", "%")
            if choices:
                values[option] = choices
    yield Level(words, commands, options, values)
    for name, subparser in inside:
        yield from _levels(subparser, (*words, name))


_BASH: Final = """\
_sooner() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" level="" at offered=""
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "$level ${{COMP_WORDS[at]}}" in
{deeper}
        esac
    done
    case "$level $before" in
{values}
    esac
    if [ -z "$offered" ]; then
        case "$level" in
{words}
        esac
        case "$word" in -*) ;; *) COMPREPLY=($(compgen -f -- "$word")) ;; esac
    fi
    COMPREPLY+=($(compgen -W "$offered" -- "$word"))
}}
complete -o filenames -F _sooner sooner"""


def _bash(levels: list[Level]) -> str:
    deeper = [level for level in levels if level.words]
    values = [(level, option, values) for level in levels for option, values in level.values.items()]
    return _BASH.format(
        deeper="\n".join(f'            "{_before(one)} {one.words[-1]}") level="{_name(one)}" ;;' for one in deeper),
        values="\n".join(
            f'        "{_name(one)} {option}") offered="{" ".join(some)}" ;;' for one, option, some in values
        ),
        words="\n".join(
            f'            "{_name(one)}") offered="{" ".join([*one.commands, *one.options])}" ;;' for one in levels
        ),
    )


def _name(level: Level) -> str:
    return " ".join(level.words)


def _before(level: Level) -> str:
    return " ".join(level.words[:-1])


def _zsh(levels: list[Level]) -> str:
    """Zsh completes as bash does."""
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(levels)


def _fish(levels: list[Level]) -> str:
    lines = []
    for level in levels:
        seen = [f"__fish_seen_subcommand_from {word}" for word in level.words]
        here = " && ".join(seen) if seen else "__fish_use_subcommand"
        among = f"{here} && not __fish_seen_subcommand_from {' '.join(level.commands)}" if seen else here
        for name, what in level.commands.items():
            lines.append(f"complete -c sooner -n '{among}' -f -a {name} -d {_quoted(what)}")
        for option, what in level.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = f" -x -a {_quoted(' '.join(level.values[option]))}" if option in level.values else ""
            lines.append(f"complete -c sooner -n '{here}' {flag} -d {_quoted(what)}{values}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
