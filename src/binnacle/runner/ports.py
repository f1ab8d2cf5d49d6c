"""What a run needs from the rest of the product, and its options."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from binnacle.plan.prompt_data import RunSituation
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.budget import RunBudget
from binnacle.wire import acp
from binnacle.work.session import SessionTerms

PLANNING_RECIPE = "plan"
"""The recipe of the iterations that plan a specification."""

Stage = Literal["plan", "do", "review", "merge"]
"""What an agent is started for: to plan, to do a task, to review one, or to resolve a conflict."""


class Worker(Struct, frozen=True, kw_only=True):
    """A session and a folder, in which one fresh agent after another works."""

    number: int
    session: str
    """Its session in the store, as which its agents act."""

    cwd: str
    """The folder it works in."""


class AgentChoice(NamedTuple):
    """Who makes an attempt, and with which recipe."""

    agent: AgentCommand
    recipe: str


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a run."""

    name: str
    """Of the run."""

    place: str
    """The machine and the checkout in which it is driven here."""

    agent: AgentCommand
    """The agent, unless `choose` says another."""

    recipe: str
    choose: Callable[[Stage, str | None], AgentChoice]
    """Who does what, by stage and by the discipline of the task."""

    budget: RunBudget
    task_budget: RunBudget
    """The most that one task may take, over all its attempts."""

    max_attempts: int
    """Attempts at a task, after which it is handed to a person."""

    max_outage: float
    """Seconds that a provider, a remote or a database may be away."""

    has_spec: bool
    """Whether the run begins with planning."""

    allows_gaps: bool
    """Whether it goes on if an agent cannot be given all of the specification, or if tasks do not cover all of it."""

    may: tuple[str, ...]
    """What the agents may do, in sentences for them."""

    checks: tuple[str, ...]
    """Commands that check their work."""

    notifies: bool
    """Whether what waits for a person is shown on their desktop."""

    silence: float
    """Seconds that an agent may be silent."""

    within: float
    """Seconds that one iteration may take."""


class SessionServices(Protocol):
    """Serves tools to the agents of a run and writes their prompts."""

    def terms(self, recipe: str, *, discipline: str | None = None, task: str | None = None) -> SessionTerms:
        """The terms of an iteration of this run."""

    def serve(
        self, session: str, terms: SessionTerms, agent: str
    ) -> AbstractAsyncContextManager[Sequence[acp.McpServer]]:
        """Serves a session on these terms, on every transport that agents can use, until the block is left."""

    def open_reviewer(self, session: str) -> AbstractAsyncContextManager[str]:
        """Makes the session of a reviewer known, which began after the run, and an empty folder for it.

        Leaving the block removes the folder with everything in it.
        """

    def tool_names(self, session: str) -> Mapping[str, str]:
        """The tools of a session's newest plan: their own names, and their names in the session."""

    def is_busy(self, session: str) -> bool:
        """Whether a tool call of a session's agent is still running."""

    async def prompt(
        self, session: str, terms: SessionTerms, *, iteration: int, more: str, situation: RunSituation | None
    ) -> str:
        """The prompt of an iteration; `more` is added to it."""

    def folder(self, session: str) -> str:
        """Where the files of a session are."""

    def environment(self, session: str, agent: str) -> dict[str, str]:
        """The environment of a session's agents."""
