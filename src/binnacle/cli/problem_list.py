"""Files that cannot be read, as several commands list them: what is wrong, and the next step."""

from collections.abc import Iterable

from binnacle.cli.command import CommandAnswer
from binnacle.cli.screen import Screen
from binnacle.errors import BinnacleError


class ListedProblem(CommandAnswer):
    """An error as part of an answer."""

    message: str
    hint: str


def list_problems(errors: Iterable[BinnacleError]) -> list[ListedProblem]:
    """Errors as part of an answer."""
    return [ListedProblem(message=one.message, hint=one.hint) for one in errors]


def show_problems(problems: Iterable[ListedProblem], screen: Screen) -> None:
    """Prints each with its next step."""
    for one in problems:
        screen.line(f"{screen.styled('✗', 'red')} {one.message}")
        if one.hint:
            screen.line(f"  hint: {one.hint}")
