"""How a command is declared: its words, its arguments, what it does, and how people see the answer."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

from binnacle.cli.context import Context
from binnacle.cli.screen import Screen

Run = Callable[[Context, Namespace], Any]
"""Does the work and returns what is printed as JSON; None prints nothing."""

View = Callable[[Any, Screen], None]
"""Shows the same answer to a person."""


class Argument(NamedTuple):
    """One parameter of a command, as argparse takes it."""

    names: tuple[str, ...]
    options: dict[str, Any]
    completes: str = ""
    """What the shell may offer for it: task, feature, discipline or recipe."""

    is_passed_on: bool = False
    """Takes what follows a bare `--`, all of it and nothing else."""


class Command(NamedTuple):
    """One command of a group."""

    words: str
    """What follows the group's name, `dep add` for instance; empty when the group is a command itself."""

    help: str
    example: str
    arguments: tuple[Argument, ...]
    run: Run
    view: View


class Group:
    """Commands that share their first word."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: dict[str, Command] = {}

    def command(self, words: str, help: str, example: str, *arguments: Argument, view: View) -> Callable[[Run], Run]:  # noqa: A002 - argparse's word
        """Declares the decorated function as a command."""

        def declare(run: Run) -> Run:
            self.commands[words] = Command(words, help, example, arguments, run, view)
            return run

        return declare


def arg(*names: str, completes: str = "", is_passed_on: bool = False, **options: Any) -> Argument:
    """An argument, in the words of `ArgumentParser.add_argument`."""
    return Argument(names, options, completes, is_passed_on)
