"""Which commands may not be passed through. The tool that refuses them says why."""

from collections.abc import Sequence
from typing import Literal, get_args

BlockedCommand = Literal["gui", "mcp", "orient", "goodbye"]

BLOCKED_COMMANDS: tuple[BlockedCommand, ...] = get_args(BlockedCommand)
"""They hang, recurse, or need the process of the agent's own shell."""

GLOBAL_FLAGS = frozenset({"-H", "--human", "--json", "-h", "--help", "-V", "--version"})
GLOBAL_OPTIONS_WITH_VALUE = frozenset({"-C", "--repo"})
"""Options that `bn` takes before the command. A test compares them with `cli.main`."""


def find_blocked_command(args: Sequence[str]) -> BlockedCommand | None:
    """The blocked command that `bn` would run for `args`, whatever options stand before it."""
    word = _command_word(args)
    return next((blocked for blocked in BLOCKED_COMMANDS if blocked == word), None)


def _command_word(args: Sequence[str]) -> str | None:
    """The first word that is no global option; empty if `bn` would refuse the command line."""
    rest = iter(args)
    for word in rest:
        if not word.startswith("-"):
            return word
        name, has_value, _ = word.partition("=")
        if name in GLOBAL_OPTIONS_WITH_VALUE:
            if not has_value and next(rest, None) is None:
                return None
        elif word not in GLOBAL_FLAGS:
            return None
    return None
