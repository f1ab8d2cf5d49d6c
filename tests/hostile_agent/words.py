"""A command line for every command, made from its declaration."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from binnacle.cli.command import Argument, Command
from binnacle.cli.command_index import GROUPS
from binnacle.cli.parser import build, load_group

WAITING = {"--follow", "--headless"}
"""Flags that wait for something, or that another flag excludes."""

HARMLESS = {"--dry-run", "--list", "--print", "--schema", "--all", "--human", "--help"}
"""Flags that turn a change into a look at it."""

SERVING = {("bridge", "host")}
"""Runs until nobody asks it for anything; what it runs is checked where it is asked for."""


class Line(NamedTuple):
    """A command, and the words that call it."""

    group: str
    command: Command
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.group} {self.command.words}".strip()


def every_line(values: dict[str, str]) -> Iterator[Line]:
    """Each command as it is least, and with all that it can be told to do.

    `values` are what arguments are given, by `group name`, or by `name` alone.
    """
    for group in GROUPS:
        for command in load_group(group).commands.values():
            if (group, command.words) in SERVING:
                continue
            begin = (group, *command.words.split())
            least = tuple(_least(group, command, values))
            yield Line(group, command, (*begin, *least))
            if flags := tuple(_flags(command)):
                yield Line(group, command, (*begin, *flags, *least))


def needs_of(line: Line) -> Any:
    """What a command line amounts to, as it was declared."""
    group = load_group(line.group)
    rest = line.words[1 + len(line.command.words.split()) :]
    return line.command.needs_of(build(group, line.command).parse_intermixed_args(rest))


def _least(group: str, command: Command, values: dict[str, str]) -> Iterator[str]:
    for argument in command.arguments:
        name = argument.names[-1].lstrip("-")
        value = values.get(f"{group} {command.words} {name}") or values.get(f"{group} {name}") or values.get(name, "x")
        if argument.options.get("choices"):
            value = next(iter(argument.options["choices"]))
        if not argument.names[0].startswith("-"):
            if not argument.is_passed_on:
                yield value
                if name == "titles":
                    yield "another part"
        elif argument.options.get("required") or f"{group} {command.words} {name}" in values:
            yield from (argument.names[-1], value)


def _flags(command: Command) -> Iterator[str]:
    for argument in command.arguments:
        if _is_flag(argument) and not set(argument.names) & (WAITING | HARMLESS):
            yield argument.names[-1]


def _is_flag(argument: Argument) -> bool:
    return argument.options.get("action") == "store_true"
