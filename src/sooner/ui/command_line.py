"""The command `sooner`: its parser, made from the table of commands, and what becomes of what goes wrong.

A subcommand is loaded when it is asked for: all of them together take a second. Only the demo and pictures need more
than a plain install; they load what they need, or say how to get it.

Exit codes: 0 done, 1 something failed (one line on standard error), 2 the command was not understood,
130 the user interrupted.
"""

import argparse
import difflib
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sooner.errors import SoonerError
from sooner.plain_text import plain_text
from sooner.ui.commands import COMMANDS, Command
from sooner.ui.exit_codes import FAILED, INTERRUPTED, NOT_UNDERSTOOD


class Parser(argparse.ArgumentParser):
    """Gets its arguments when it is used, and says in one line what it does not understand."""

    command: Command | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.prepare()
        return super().parse_known_args(args, namespace)

    def prepare(self) -> None:
        """Add the arguments of its command."""
        if (command := self.command) is None:
            return
        self.command = None
        if command.commands:
            _add_commands(self, command.commands)
            return
        module, _, name = command.prepared_by.partition(":")
        getattr(importlib.import_module(f"sooner.ui.{module}"), name)(self)
        self.set_defaults(called={one.dest: one.option_strings[-1] for one in self._actions if one.option_strings})
        self.usage = " ".join(["%(prog)s [OPTION ...]", *map(_usage_of, self._get_positional_actions())])

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Where there is a choice, what was nearly written is what is told."""
        choices = list(map(str, action.choices or ()))
        if action.choices is not None and value not in action.choices:
            near = difflib.get_close_matches(str(value), choices, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {hint}")

    def error(self, message: str) -> NoReturn:
        self.exit(NOT_UNDERSTOOD, f"{self.prog}: {plain_text(message)} (see {self.prog} --help)\n")


class _ShowVersion(argparse.Action):
    """It is looked up when it is asked for: that takes longer than to load some commands."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from sooner.version import __version__

        print(f"sooner {__version__}")
        parser.exit()


def main(
    arguments: Sequence[str] | None = None,
    at_work: Callable[[], None] = lambda: None,
    done: Callable[[], None] = lambda: None,
) -> int:
    """Run a command. `at_work` is called once all of it is loaded and understood, and `done` when it is over."""
    _let_streams_take_everything()
    options = argparse.Namespace(called={})
    try:
        options = command_parser().parse_args(arguments)
        at_work()
        exit_code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads this has seen enough, as in `sooner lab list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        exit_code = FAILED
    except (SoonerError, OSError) as error:
        print(f"sooner: {_with_options(plain_text(error), options.called)}", file=sys.stderr)
        exit_code = FAILED
    except KeyboardInterrupt:
        print("sooner: interrupted", file=sys.stderr)
        exit_code = INTERRUPTED
    done()
    return exit_code


def _with_options(sentence: str, called: Mapping[str, str]) -> str:
    """A sentence about arguments of Python, as one about options: `left_on='k'` is `--left-on 'k'` here."""

    def option(found: re.Match[str]) -> str:
        name = called.get(found[1]) or called.get(found[1].removesuffix("s"))
        return found[0] if name is None else f"{name} {found[2]}".rstrip()

    return re.sub(r"\b([a-z_]+)=(['\"\w]?)", option, sentence)


def _usage_of(positional: argparse.Action) -> str:
    """Options are in the list below, and their metavars would fill half of a screen."""
    shown = positional.metavar or f"{{{','.join(map(str, positional.choices or ()))}}}"
    return {"?": f"[{shown}]", "+": f"{shown} ..."}.get(str(positional.nargs), str(shown))


def _let_streams_take_everything() -> None:
    """Let streams escape what their encoding lacks, and swallow what nobody reads if they were closed before."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as it runs
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def command_parser() -> Parser:
    parser = Parser(prog="sooner", description="Joins that answer while the data is still arriving.")
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show program's version number and exit")
    _add_commands(parser, COMMANDS)
    return parser


def _add_commands(parser: argparse.ArgumentParser, commands: Sequence[Command]) -> None:
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for command in commands:
        subparser = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=command.summary,
            epilog=command.example and f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.command = command
