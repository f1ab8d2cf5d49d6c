"""What a person asks of a run."""

from msgspec import Struct

from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.permissions import Approve
from binnacle.runner.budget import RunBudget
from binnacle.runner.prompt_template import PromptTemplate
from binnacle.store.reviewer_sessions import REVIEW_RECIPE


class RunRequest(Struct, frozen=True, kw_only=True):
    """What a person asks of a run."""

    agent: AgentCommand
    name: str
    start: str
    """The folder in which it was started."""

    spec: str = ""
    spec_file: str = ""
    allows_gaps: bool = False
    """Whether it goes on if an agent cannot be given all of `spec`, or if tasks do not cover all of it."""

    extra: str = ""
    template: PromptTemplate | None = None
    """The template of its prompts, except for the planning; without one, the recipe's prompt is used."""

    recipe: str | None = None
    """If empty, that of the resumed run, or `loop`."""

    discipline: str | None = None
    feature: str | None = None
    tasks: tuple[str, ...] = ()
    """Only these tasks, and their parts."""

    budget: RunBudget = RunBudget()
    approve: Approve = "ask"
    auto_commit: bool = False
    is_reset: bool = False
    is_resumed: bool = False
    """Whether there must be a run of that name to resume."""

    workers: int = 1
    has_worktree: bool = False
    servers: tuple[str, ...] = ()
    """MCP servers named on the command line."""

    agents: tuple[tuple[str, AgentCommand, str], ...] = ()
    """Other agents, each for a stage or a discipline, with a recipe if it has its own."""

    task_budget: RunBudget = RunBudget()
    max_attempts: int = 3
    max_outage: float = 6 * 3600.0
    remote: str = ""
    permission_wait: float = 3600.0
    """Seconds that an agent's request for permission waits for a person."""

    notifies: bool = False
    silence: float = 900
    within: float = 7200

    @property
    def review_recipe(self) -> str:
        """The recipe of agents that review."""
        return next((one for who, _, one in reversed(self.agents) if who == "review" and one), REVIEW_RECIPE)
