"""What happens in a run, as values: a view shows them, `--json` prints them, tests read them."""

from collections.abc import Callable

from msgspec import Struct

from binnacle.runner.end_rules import EndKind


class RunEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """Something happened."""

    worker: int = 1
    """Whose agent it is about."""


class RunStarted(RunEvent, frozen=True, kw_only=True, tag="run_started"):
    """A run begins, or goes on."""

    session: str
    name: str
    agent: str
    recipe: str
    goes_on: bool = False
    """Whether the session was begun by an earlier run."""


class IterationStarted(RunEvent, frozen=True, kw_only=True, tag="iteration_started"):
    """An iteration begins, or goes on after it was broken off."""

    number: int
    goes_on: bool = False
    task: str = ""
    """The task it holds from before."""


class AgentStarted(RunEvent, frozen=True, kw_only=True, tag="agent_started"):
    """An agent runs and has a session."""

    agent: str
    agent_session: str
    was_loaded: bool = False
    """Whether it remembers what it did before it was broken off."""


class AgentPrompted(RunEvent, frozen=True, kw_only=True, tag="prompted"):
    """An agent was given a prompt."""

    text: str


class AgentSaid(RunEvent, frozen=True, kw_only=True, tag="said"):
    """A piece of what an agent says or thinks."""

    text: str
    is_thought: bool = False


class ToolCalled(RunEvent, frozen=True, kw_only=True, tag="tool"):
    """A tool call begins, goes on or ends."""

    id: str
    title: str
    kind: str = ""
    status: str = ""


class PlanTold(RunEvent, frozen=True, kw_only=True, tag="plan"):
    """The steps that an agent means to take."""

    steps: tuple[tuple[str, str], ...]
    """Each with its status."""


class CostReported(RunEvent, frozen=True, kw_only=True, tag="spent"):
    """What the run has cost so far, as far as the agent tells."""

    tokens: int = 0
    cost: float = 0.0


class PermissionDecided(RunEvent, frozen=True, kw_only=True, tag="permission"):
    """An agent asked whether it may, and was answered."""

    title: str
    kind: str = ""
    is_allowed: bool
    by: str
    """`policy` or `person`."""


class HookRan(RunEvent, frozen=True, kw_only=True, tag="hook"):
    """A hook ended."""

    hook: str
    command: str
    is_ok: bool
    said: str = ""
    """What went wrong with it."""


class TaskMoved(RunEvent, frozen=True, kw_only=True, tag="task"):
    """A task of the run was added, taken, finished or blocked."""

    task: str
    title: str
    status: str


class TasksProgressed(RunEvent, frozen=True, kw_only=True, tag="progress"):
    """How many of the run's tasks are closed."""

    closed: int
    total: int


class ChangesCommitted(RunEvent, frozen=True, kw_only=True, tag="committed"):
    """The changes of an iteration are in git."""

    commit: str
    files: int


class BranchMerged(RunEvent, frozen=True, kw_only=True, tag="merged"):
    """The branch of a worker was merged, or not."""

    branch: str
    into: str
    conflicts: tuple[str, ...] = ()
    task: str = ""
    """The task that settles the conflict."""


class WorkerWaiting(RunEvent, frozen=True, kw_only=True, tag="waiting"):
    """Nothing is done for a while."""

    why: str
    seconds: float = 0.0
    """How long at most; 0 where nobody knows."""


class WarningReported(RunEvent, frozen=True, kw_only=True, tag="warned"):
    """Something is not as it should be, and the run goes on."""

    message: str
    hint: str = ""


class IterationEnded(RunEvent, frozen=True, kw_only=True, tag="iteration_ended"):
    """An iteration is over."""

    number: int
    summary: str
    task: str = ""
    seconds: float = 0.0


class RunEnded(RunEvent, frozen=True, kw_only=True, tag="run_ended"):
    """A run is over, and why."""

    session: str
    name: str
    why: EndKind
    said: str
    """The reason in a sentence."""

    hint: str = ""
    iterations: int = 0
    """That this run made."""

    closed: int = 0
    """Tasks that were closed in the session."""

    left: int = 0
    """Tasks that are not closed."""

    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    kept: tuple[str, ...] = ()
    """Branches that were not merged."""


Tell = Callable[[RunEvent], None]
"""Takes every event as it happens."""
