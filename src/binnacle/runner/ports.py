"""What a run needs from the rest of the product, and its options."""

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
    """A session and a folder, in which one fresh agent after another works."""

    number: int
    session: str
    """Its session in the store, as which its agents act."""

    cwd: str
    """The folder it works in."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a run."""

    name: str
    """Of the run."""

    agent: AgentCommand
    recipe: str
    budget: RunBudget
    has_spec: bool
    """Whether the run begins with planning."""

    auto_commit: bool
    silence: float
    """Seconds that an agent may be silent."""

    within: float
    """Seconds that one iteration may take."""


class SessionServices(Protocol):
    """Serves tools to the agents of a run and writes their prompts."""

    def serve(self, session: str, recipe: str) -> AbstractAsyncContextManager[Sequence[acp.McpServer]]:
        """Serves a session under a recipe, on every transport that agents can use, until the block is left."""

    def is_busy(self, session: str) -> bool:
        """Whether a tool call of a session's agent is still running."""

    async def prompt(self, session: str, recipe: str, *, iteration: int, more: str) -> str:
        """The prompt of an iteration; `more` is added to it."""

    def folder(self, session: str) -> str:
        """Where the files of a session are."""

    def environment(self, session: str) -> dict[str, str]:
        """The environment of a session's agents."""
