"""How a command is declared: its words, its arguments, what it does, and how people see the answer.

A command's function returns a typed answer: a `CommandAnswer`, or a value of the package that did the work. It is
printed as JSON for programs and shown by the command's view to people. The type checker holds both to the same type.
"""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from msgspec import Struct, field

from binnacle.cli.context import Context
from binnacle.cli.screen import Screen


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class CommandAnswer(Struct, frozen=True, omit_defaults=True):
    """What a command answers, field by field as in its JSON. A field that has its default value is left out."""


AnswerT = TypeVar("AnswerT")

Run = Callable[[Context, Namespace], AnswerT | None]
"""Does the work and returns the answer; None prints nothing."""

View = Callable[[AnswerT, Screen], None]
"""Shows the same answer to a person."""


class ToolCall(NamedTuple):
    """A call of a tool that does what a command does."""

    tool: str
    """Its own name, or that of an act which only a command does (`tools.commands`)."""

    arguments: Mapping[str, Any] | None = None
    """In the tool's words; None where the command cannot say, so that a limited tool does not allow it."""


class CommandNeeds(NamedTuple):
    """What a command amounts to, so that the plan of a session holds for it as for the tools."""

    steps: tuple[tuple[ToolCall, ...], ...] = ()
    """What it does, one after the other: each with the calls that do it, of which one must be allowed."""

    is_reading: bool = False
    """Whether it changes nothing."""

    act: str = ""
    """What only a person may do, in words that follow "only a person may": `approve a server`."""

    @property
    def tools(self) -> frozenset[str]:
        """Every tool that is named."""
        return frozenset(call.tool for step in self.steps for call in step)


DeclaredNeeds = CommandNeeds | Callable[[Namespace], CommandNeeds]
"""What a command amounts to, which may depend on its arguments."""

READS = CommandNeeds(is_reading=True)
"""Reads what no tool limits."""


def reads(*tools: str) -> CommandNeeds:
    """Reads what one of these tools reads."""
    return CommandNeeds((tuple(map(ToolCall, tools)),), is_reading=True)


def changes(*tools: str) -> CommandNeeds:
    """Changes what one of these tools changes, whose limits it cannot express."""
    return CommandNeeds((tuple(map(ToolCall, tools)),))


def by_person(act: str) -> CommandNeeds:
    """Does what only a person may do."""
    return CommandNeeds(act=act)


def calls(*found: ToolCall) -> CommandNeeds:
    """Does what one of these calls does."""
    return CommandNeeds((found,))


def reading(found: ToolCall) -> CommandNeeds:
    """Reads what this call reads."""
    return CommandNeeds(((found,),), is_reading=True)


def call(tool: str, /, **arguments: Any) -> ToolCall:
    """A call with the arguments that were given: an option that is not used is none. An empty text clears a field."""
    return ToolCall(tool, {name: value for name, value in arguments.items() if value not in (None, False, [])})


class Argument(NamedTuple):
    """One parameter of a command, as argparse takes it."""

    names: tuple[str, ...]
    options: dict[str, Any]
    completes: str = ""
    """What the shell may offer for it: task, feature, discipline, recipe, status, kind or priority."""

    is_passed_on: bool = False
    """Takes what follows a bare `--`, all of it and nothing else."""


class Command(NamedTuple):
    """One command of a group."""

    words: str
    """What follows the group's name, `dep add` for instance; empty when the group is a command itself."""

    help: str
    example: str
    arguments: tuple[Argument, ...]
    run: Run[Any]
    view: View[Any]
    needs: DeclaredNeeds

    def needs_of(self, args: Namespace) -> CommandNeeds:
        """What it amounts to with these arguments."""
        return self.needs if isinstance(self.needs, CommandNeeds) else self.needs(args)


class Group:
    """Commands that share their first word."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: dict[str, Command] = {}

    def command(
        self,
        words: str,
        help: str,  # noqa: A002 - argparse's word
        example: str,
        *arguments: Argument,
        view: View[AnswerT],
        needs: DeclaredNeeds,
    ) -> Callable[[Run[AnswerT]], Run[AnswerT]]:
        """Declares the decorated function as a command. What it `needs` must hold for all that it does."""

        def declare(run: Run[AnswerT]) -> Run[AnswerT]:
            self.commands[words] = Command(words, help, example, arguments, run, view, needs)
            return run

        return declare


def arg(*names: str, completes: str = "", is_passed_on: bool = False, **options: Any) -> Argument:
    """An argument, in the words of `ArgumentParser.add_argument`."""
    return Argument(names, options, completes, is_passed_on)
