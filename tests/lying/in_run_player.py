"""An agent of `lies` as it plays in a run: its part in its first turn, and its word again in every other one."""

from pathlib import Path
from typing import Any

from lying.agents import Agent, call_done, play
from lying.deceits import DECEITS, RUN_DECEITS
from lying.lies import FORGETFUL, HONEST, LIARS, TRICKSTERS

AGENTS = (*LIARS, *FORGETFUL, *TRICKSTERS, *DECEITS, *RUN_DECEITS, *HONEST)


class RunHands:
    """The hands of an agent in a run: an `Actor` of `runner.player`."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self.folder: Path = actor.cwd
        self.task: str = actor.task

    def call(self, tool: str, **arguments: object) -> str:
        """The text of an answer."""
        return self._actor.text(tool, **arguments)


def play_turn(actor: Any, name: str) -> None:
    """One turn of the agent with this name."""
    hands = RunHands(actor)
    answer = play(find_agent(name), hands) if actor.times("turn") == 1 else call_done(hands)
    actor.keep("answer", answer)
    actor.call("iteration-summary", summary="all of it")


def find_agent(name: str) -> Agent:
    """An agent by what it does."""
    return next(one for one in AGENTS if one.name == name)
