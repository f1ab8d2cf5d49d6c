"""Which commands may not be passed through. Says nothing about why: that is for the tool that refuses."""

from collections.abc import Sequence
from typing import Literal, get_args

BlockedCommand = Literal["gui", "mcp", "orient", "goodbye"]

BLOCKED_COMMANDS: tuple[BlockedCommand, ...] = get_args(BlockedCommand)
"""They hang, recurse, or need the process of the agent's own shell (seed 000)."""

GLOBAL_FLAGS = frozenset({"-H", "--human", "--json", "-h", "--help", "-V", "--version"})
GLOBAL_OPTIONS_WITH_VALUE = frozenset({"-C", "--repo"})
"""What `bn` takes before the command. A test feeds the same words to `cli.main` and compares."""


def find_blocked_command(args: Sequence[str]) -> BlockedCommand | None:
    """The blocked command that `bn` would run for `args`, whatever options stand before it."""
    word = _command_word(args)
    return next((blocked for blocked in BLOCKED_COMMANDS if blocked == word), None)


def _command_word(args: Sequence[str]) -> str | None:
    """The first word that is no global option; none where `bn` itself refuses the command line."""
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
