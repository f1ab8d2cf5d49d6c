"""How much of a list a command shows: `-n` and `--offset`, the same everywhere."""

from argparse import ArgumentTypeError

from binnacle.cli.command import Argument, arg
from binnacle.cli.screen import Screen

UNLIMITED = (1 << 63) - 1
"""What `-n 0` stands for: the highest limit that both engines take."""


def limit_arg(default: int, *, what: str = "how many to show") -> Argument:
    """`-n N`, where 0 is no limit."""
    return arg("-n", "--limit", type=_parse_limit, default=default, metavar="N", help=f"{what} ({default}); 0 for all")


def say_how_many_more(shown: int, total: int, screen: Screen, *, offset: int = 0, what: str = "more") -> None:
    """Says how many were left out by the limit, and how to see them."""
    left = total - offset - shown
    if left > 0:
        screen.line(screen.styled(f"{left} {what}; -n 0 shows all", "dim"))


def _parse_limit(text: str) -> int:
    return _parse_count(text) or UNLIMITED


def _parse_count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ArgumentTypeError(f"not a number: {text!r}") from None
    if number < 0:
        raise ArgumentTypeError(f"cannot be negative: {number}")
    return min(number, UNLIMITED)


OFFSET = arg("--offset", type=_parse_count, default=0, metavar="N", help="how many to skip")
