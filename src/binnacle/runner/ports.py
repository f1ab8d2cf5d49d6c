"""What a run needs of the rest of the product, and what it was asked to do."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.budget import RunBudget
from binnacle.wire import acp

PLANNING_RECIPE = "planning"
"""The recipe of the first iteration of a run that has a specification."""


class Worker(Struct, frozen=True, kw_only=True):
    """A session and a folder, in which one fresh agent after the other works."""

    number: int
    session: str
    """Its session in the store, in whose name its agents act."""

    cwd: str
    """The folder it works in."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """How a run is to be done."""

    name: str
    """Of the run."""

    agent: AgentCommand
    recipe: str
    budget: RunBudget
    has_spec: bool
    """Whether there is something to be planned first."""

    auto_commit: bool
    silence: float
    """Seconds that an agent may say nothing."""

    within: float
    """Seconds that one iteration may take."""


class SessionServices(Protocol):
    """Serves tools to the agents of a run and writes their prompts."""

    def serve(self, session: str, recipe: str) -> AbstractAsyncContextManager[Sequence[acp.McpServer]]:
        """Serves a session under a recipe, by each of the ways that agents can take. Leaving it ends that."""

    def is_busy(self, session: str) -> bool:
        """Whether a tool that the agent of a session called is still at work."""

    async def prompt(self, session: str, recipe: str, *, iteration: int, more: str) -> str:
        """The prompt of an iteration; `more` is added to it."""

    def folder(self, session: str) -> str:
        """Where the files of a session are."""

    def environment(self, session: str) -> dict[str, str]:
        """What the agents of a session find in their environment."""
