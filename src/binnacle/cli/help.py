"""Help for people: all commands, a group, or one command with an example."""

import argparse

from binnacle.cli.command import Command, Group
from binnacle.cli.command_index import GROUPS, SHORT_FORMS, TOPICS
from binnacle.cli.output import HUMAN_HELP, JSON_HELP
from binnacle.cli.screen import Screen

_ABOUT = """bn: the work of a repository, for agents and people.

On a terminal answers are for people, in a pipe they are JSON. Inside a git repository no set-up is needed."""

_FIRST_STEPS = (
    ("  bn add 'Fix the login form'", "add a task"),
    ("  bn ready", "what can be taken now"),
    ("  bn start 1f3, bn done 1f3", "take a task, finish it; three digits of its id suffice"),
)


def show_overview() -> None:
    """What `bn --help` prints."""
    screen = Screen()
    screen.block(_ABOUT, indent=0)
    screen.line()
    screen.heading("First steps")
    screen.table(_FIRST_STEPS, flexible=1)
    for topic, names in TOPICS.items():
        screen.line()
        screen.heading(topic)
        screen.table(((f"  {name:<{_NAME_COLUMNS}}", GROUPS[name][1]) for name in names), flexible=1)
    screen.line()
    screen.heading("Short forms")
    screen.block(_describe_short_forms(), indent=2)
    screen.line()
    screen.heading("Everywhere")
    rows = (
        ("  -H, --human", HUMAN_HELP),
        ("  --json", JSON_HELP),
        ("  -C, --repo DIR", "the repository; default: around the current directory"),
        ("  -h, --help", "help for any command: bn task add --help"),
        ("  --version", "the version"),
    )
    screen.table(rows, flexible=1)


_NAME_COLUMNS = max(map(len, GROUPS))


def _describe_short_forms() -> str:
    """What the short forms stand for, in two lines."""
    same = [name for name, whole in SHORT_FORMS.items() if whole == f"task {name}"]
    others = [f"bn {name} is bn {whole}" for name, whole in SHORT_FORMS.items() if name not in same]
    return f"bn {'|'.join(same)} is bn task …\n{', '.join(others)}"


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
    if short := next((name for name, whole in SHORT_FORMS.items() if whole == f"{group.name} {command.words}"), ""):
        screen.line()
        screen.line(f"short form: bn {short}")
    others = [words for words in group.commands if words and words != command.words]
    if others and not command.words:
        screen.line()
        screen.line(f"also: {', '.join(f'bn {group.name} {words}' for words in others)}")
