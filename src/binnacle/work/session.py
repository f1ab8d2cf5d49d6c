"""Sessions with their iterations, and agents."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from msgspec import Struct

from binnacle.errors import Refused
from binnacle.work.actor import Actor
from binnacle.work.ids import AgentId, SessionId
from binnacle.work.run import AttemptOutcome

AgentStatus = Literal["active", "idle", "stale"]

IDLE_AFTER = timedelta(minutes=5)
STALE_AFTER = timedelta(minutes=30)


PLANNED_PREFIX = "bns-"


def is_planned(session_id: str | None) -> bool:
    """Whether an id belongs to a planned session, not to a connection or an agent."""
    return session_id is not None and session_id.startswith(PLANNED_PREFIX)


class SessionTerms(NamedTuple):
    """What a session is for: its recipe, discipline, feature and task. Its plan is made from this."""

    recipe: str = "default"
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether nothing in the store decides which tools the session gets."""
        return not (self.discipline or self.feature or self.task)


BARE = SessionTerms()
"""The terms of a session that was not planned."""

Proof = Literal["terminal", "variable", "secret", "process", "connection", "token", "handle", "nothing"]
"""How we know who acts.

`terminal`: a command that no agent runs. `variable`: BN_AGENT_ID names the agent. `secret`: BN_SESSION, or the token of
a session's own endpoint. `process`: the client's process. `connection`: an agent that is known only by its connection.
`token`: a bearer token. `handle`: what `binnacle-set_agent` or `binnacle-orient` returned. `nothing`: callers of this
kind cannot be distinguished, so they may not hold a task.
"""


class Session(Struct, frozen=True, kw_only=True):
    """Who acts, where, with which rights, and how we know. Each command and each MCP session has one."""

    id: str | None = None
    """The public id recorded with its changes: `bns-…` for a planned session, `mcp-…` for a connection."""

    actor: Actor
    repo: str | None = None
    """The repository of its project; None until one is chosen."""

    cwd: str = ""
    """The folder in which its commands run."""

    terms: SessionTerms = BARE
    proof: Proof = "terminal"


class SessionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A planned session in the store: one run or one client, with its plan."""

    id: SessionId
    name: str = ""
    recipe: str = ""
    discipline: str | None = None
    feature: str | None = None
    task_id: str | None = None
    status: Literal["active", "complete", "aborted"] = "active"
    reason: str = ""
    """Why it ended."""

    run: str | None = None
    """The run that drives it."""

    place: str = ""
    """The machine and the checkout of that run's process."""

    created_at: datetime
    ended_at: datetime | None = None


class Iteration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fresh agent within a session: in a run, one attempt at a task, or one planner."""

    session: SessionId
    number: int
    plans: str = ""
    """The step of the planning that it is for; empty for an attempt at a task."""

    task_started: str | None = None
    summary: str = ""
    agent: str = ""
    model: str = ""
    outcome: AttemptOutcome = ""
    reason: str = ""
    """Why the task is not done by it."""

    commit_id: str = ""
    """The last commit of its changes."""

    files: int = 0
    """Files that it changed."""

    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    currency: str = ""
    """Of its cost; empty if the agent reported none."""

    started_at: datetime
    ended_at: datetime | None = None


class Agent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A registered agent: the process that makes changes under its id."""

    id: AgentId
    name: str
    type: str = "worker"
    registered: Literal["shell", "mcp"]
    pid: int | None = None
    process_started: str | None = None
    """Start time of the process, which distinguishes it from another with a reused pid."""

    parent_pid: int | None = None
    client: str = ""
    """What its client calls itself."""

    session: str | None = None
    """The session it works in, by its public id."""

    token: str = ""
    """Name of its connection's bearer token."""

    server_pid: int | None = None
    """The server process that it is connected to."""

    server_started: str | None = None
    created_at: datetime
    active_at: datetime
    ended_at: datetime | None = None


def agent_status(agent: Agent, *, now: datetime, is_alive: bool) -> AgentStatus:
    """The status of an agent, from its last activity and whether its process is alive."""
    silence = now - agent.active_at
    if not is_alive or silence >= STALE_AFTER:
        return "stale"
    return "idle" if silence >= IDLE_AFTER else "active"


def check_start_in_iteration(iteration: Iteration, task_id: str) -> None:
    """Refuses a second task in one iteration: an agent with two leaves both half done."""
    if iteration.task_started not in (None, task_id):
        raise Refused(
            f"iteration {iteration.number} already works on {iteration.task_started}",
            hint="finish it, write the iteration summary and stop; the next iteration takes the next task",
        )


def check_summary(iteration: Iteration) -> None:
    """Refuses a second summary of an iteration."""
    if iteration.summary:
        raise Refused(
            f"iteration {iteration.number} already has a summary", hint="stop here; the next iteration writes its own"
        )


def check_complete(open_tasks: Sequence[str]) -> None:
    """Refuses to complete a session while tasks are open."""
    if open_tasks:
        more = f" and {len(open_tasks) - 5} more" if len(open_tasks) > 5 else ""
        raise Refused(
            f"{len(open_tasks)} task(s) are not finished: {', '.join(open_tasks[:5])}{more}",
            hint="finish, block or cancel them first",
        )
