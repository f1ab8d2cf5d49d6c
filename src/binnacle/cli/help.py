"""Help for people: all commands, a group, or one command with an example."""

import argparse

from binnacle.cli.command import Command, Group
from binnacle.cli.commands import GROUPS
from binnacle.cli.screen import Screen

_ABOUT = """bn: the work of a repository, for agents and people.

Answers are JSON; -H shows them to people. Inside a git repository no set-up is needed."""


def show_overview() -> None:
    """What `bn --help` prints."""
    screen = Screen()
    screen.block(_ABOUT, indent=0)
    screen.line()
    screen.heading("Commands")
    screen.table(((f"  {name}", help_text) for name, (_, help_text) in GROUPS.items()), flexible=1)
    screen.line()
    screen.heading("Everywhere")
    rows = (
        ("  -H, --human", "for people instead of JSON"),
        ("  -C, --repo DIR", "the repository; default: around the current directory"),
        ("  -h, --help", "help for any command: bn task add --help"),
        ("  --version", "the version"),
    )
    screen.table(rows, flexible=1)


def show_group(group: Group) -> None:
    """What `bn task --help` prints."""
    screen = Screen()
    screen.line(f"bn {group.name}: {GROUPS[group.name][1]}")
    screen.line()
    rows = ((f"  bn {group.name} {command.words}".rstrip(), command.help) for command in group.commands.values())
    screen.table(rows, flexible=1)
    screen.line()
    screen.line(f"Details: bn {group.name} COMMAND --help")


def show_command(group: Group, command: Command, parser: argparse.ArgumentParser) -> None:
    """What `bn task add --help` prints."""
    screen = Screen()
    screen.block(parser.format_help().rstrip(), indent=0)
    screen.line()
    screen.heading("example")
    screen.line(f"  {command.example}")
    others = [words for words in group.commands if words and words != command.words]
    if others and not command.words:
        screen.line()
        screen.line(f"also: {', '.join(f'bn {group.name} {words}' for words in others)}")
