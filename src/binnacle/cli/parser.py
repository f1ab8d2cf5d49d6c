"""Turns words into a command and its arguments, building no parser but that command's."""

import argparse
from typing import NoReturn

from binnacle.cli.command import Command, Group
from binnacle.cli.command_index import GROUPS, SHORT_FORMS, import_group
from binnacle.cli.output import HUMAN_HELP, JSON_HELP
from binnacle.errors import UsageError

Parsed = tuple[Command | None, argparse.Namespace]


def _formatter(prog: str) -> argparse.HelpFormatter:
    # With a width of its own it does not load shutil to ask for the terminal's, which add_argument() makes it do.
    return argparse.HelpFormatter(prog, max_help_position=30, width=100)


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are our errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}", hint=f"see: {self.prog} --help")


def load_group(name: str) -> Group:
    """The group a first word belongs to."""
    if name not in GROUPS:
        from binnacle.cli.suggestions import suggest

        raise UsageError(f"unknown command {name!r}", hint=suggest(name))
    return import_group(name)


def expand(words: list[str]) -> list[str]:
    """The words with a short form written out: `done 1f3` is `task done 1f3`."""
    return [*SHORT_FORMS[words[0]].split(), *words[1:]] if words and words[0] in SHORT_FORMS else words


def find_command(group: Group, words: list[str]) -> tuple[Command | None, list[str]]:
    """The command of a group that `words` begin with, and what is left of them."""
    for length in (2, 1, 0):
        command = group.commands.get(" ".join(words[:length]))
        if command is not None and len(words) >= length:
            return command, words[length:]
    return None, words


def parse(words: list[str], *, as_help: bool = False) -> Parsed:
    """The command meant by `words` and its arguments; no command when only help was asked for, and given."""
    words = expand(words)
    group = load_group(words[0])
    command, rest = find_command(group, words[1:])
    wants_help = as_help or any(word in ("-h", "--help") for word in _options(rest))
    if command is None or (not wants_help and _is_mistyped(command, rest)):
        if wants_help:
            from binnacle.cli.help import show_group

            show_group(group)
            return None, argparse.Namespace()
        raise _unknown(group, words[1:])
    parser = build(group, command)
    if wants_help:
        from binnacle.cli.help import show_command

        show_command(group, command, parser)
        return None, argparse.Namespace()
    if any("--add-tag" in argument.names for argument in command.arguments):
        from binnacle.cli.tags import rewrite_tags

        rest = rewrite_tags(command.arguments, rest)
    if any(argument.is_passed_on for argument in command.arguments):
        return command, _parse_passing_on(parser, command, rest)
    # Intermixed parsing lets options stand between titles, but loses its way after a bare `--`.
    return command, parser.parse_args(rest) if "--" in rest else parser.parse_intermixed_args(rest)


def _parse_passing_on(parser: Parser, command: Command, words: list[str]) -> argparse.Namespace:
    """The arguments of a command that hands what follows a bare `--` to a program."""
    before = _options(words)
    args = parser.parse_intermixed_args(before)
    (name,) = next(argument.names for argument in command.arguments if argument.is_passed_on)
    if too_many := getattr(args, name):
        raise UsageError(f"{parser.prog}: one word too many: {too_many[0]!r}", hint="what is passed on comes after --")
    setattr(args, name, words[len(before) + 1 :])
    return args


def build(group: Group, command: Command) -> Parser:
    """The parser of one command."""
    prog = " ".join(filter(None, ("bn", group.name, command.words)))
    parser = Parser(prog=prog, description=command.help, add_help=False, allow_abbrev=False, formatter_class=_formatter)
    for argument in command.arguments:
        parser.add_argument(*argument.names, **argument.options)
    everywhere = parser.add_argument_group("everywhere")
    everywhere.add_argument("-H", "--human", dest="asked", action="store_const", const="human", help=HUMAN_HELP)
    everywhere.add_argument("--json", dest="asked", action="store_const", const="json", help=JSON_HELP)
    everywhere.add_argument("-C", "--repo", metavar="DIR", help="the repository; default: around the current directory")
    everywhere.add_argument("-h", "--help", action="store_true", help="this help")
    return parser


def _options(words: list[str]) -> list[str]:
    """The words that may be options: those before a bare `--`."""
    return words[: words.index("--")] if "--" in words else words


def _is_mistyped(command: Command, rest: list[str]) -> bool:
    """Whether a word follows a group that is a command itself and takes none, as in `bn queue remove`."""
    takes_word = any(not argument.names[0].startswith("-") for argument in command.arguments)
    return not command.words and not takes_word and bool(rest) and not rest[0].startswith("-")


def _unknown(group: Group, words: list[str]) -> UsageError:
    names = [name for name in group.commands if name]
    if not words or words[0].startswith("-"):
        return UsageError(f"bn {group.name} needs a command", hint=f"one of: {', '.join(names)}")
    from binnacle.cli.suggestions import suggest_in

    return UsageError(f"unknown command 'bn {group.name} {words[0]}'", hint=suggest_in(group, words[0]))
