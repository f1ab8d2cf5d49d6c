"""The outcome of a tool call as the answer of a command."""

import sys
from typing import Any

from binnacle.cli.command import CommandAnswer
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.tools.outcome import Outcome


class OutcomeText(CommandAnswer):
    """What a tool answered, for a person."""

    text: str


OutcomeAnswer = OutcomeText | dict[str, Any]
"""For a person the text, for a program the envelope, with whatever the tool has put into it."""


def answer_with(context: Context, outcome: Outcome) -> OutcomeAnswer | None:
    """The answer of a command that called a tool. A person reads an error on standard error."""
    if outcome.is_error:
        context.exit_code = 1
    if not context.human:
        return outcome.envelope
    if outcome.is_error:
        Screen(sys.stderr).block(outcome.text, indent=0)
        return None
    return OutcomeText(text=outcome.text)


def show_outcome(answer: OutcomeAnswer, screen: Screen) -> None:
    """Prints the text of an outcome."""
    screen.block(answer.text if isinstance(answer, OutcomeText) else answer["text"], indent=0)
