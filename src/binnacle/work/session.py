"""Sessions and agents: a run of work with its iterations, and who carries it out."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from msgspec import Struct

from binnacle.errors import Refused
from binnacle.work.actor import Actor
from binnacle.work.ids import AgentId, SessionId

AgentStatus = Literal["active", "idle", "stale"]

IDLE_AFTER = timedelta(minutes=5)
STALE_AFTER = timedelta(minutes=30)


PLANNED_PREFIX = "bns-"


def is_planned(session_id: str | None) -> bool:
    """Whether an id is that of a planned session, and not of a connection or an agent."""
    return session_id is not None and session_id.startswith(PLANNED_PREFIX)


class Terms(NamedTuple):
    """What a session is for: under which recipe it works, as whom, and on what. Its plan is made from this."""

    recipe: str = "default"
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether the store has no say in which tools the session gets."""
        return not (self.discipline or self.feature or self.task)


BARE = Terms()
"""What a session is for that nobody planned."""

Proof = Literal["terminal", "variable", "secret", "process", "connection", "token", "handle", "nothing"]
"""How we know who acts.

`terminal`: a command that no agent runs. `variable`: BN_AGENT_ID names the agent. `secret`: BN_SESSION, or the token of
a session's own endpoint. `process`: the client's process. `connection`: an agent that is known by its connection alone.
`token`: a bearer token. `handle`: what `binnacle-set_agent` or `binnacle-orient` returned. `nothing`: two callers of
this kind cannot be told apart, so they may not hold anything.
"""


class Session(Struct, frozen=True, kw_only=True):
    """Who acts, where, with which rights, and how we know. Every face makes one; everything below takes it."""

    id: str | None = None
    """The public id that changes are recorded under: `bns-…` if it was planned, `mcp-…` for a connection."""

    actor: Actor
    repo: str | None = None
    """The repository of its project; None before one was chosen."""

    cwd: str = ""
    """The folder in which its commands run."""

    terms: Terms = BARE
    proof: Proof = "terminal"


class SessionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A planned session as it is kept: one run, or one client, with the plan it was given."""

    id: SessionId
    name: str = ""
    recipe: str = ""
    discipline: str | None = None
    feature: str | None = None
    task_id: str | None = None
    status: Literal["active", "complete", "aborted"] = "active"
    reason: str = ""
    """Why it ended as it did."""

    created_at: datetime
    ended_at: datetime | None = None


class Iteration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of an agent within a session."""

    session: SessionId
    number: int
    """0 is the planning turn."""

    task_started: str | None = None
    summary: str = ""
    started_at: datetime
    ended_at: datetime | None = None


class Agent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A registered agent: the process behind the changes made in its name."""

    id: AgentId
    name: str
    type: str = "worker"
    registered: Literal["shell", "mcp"]
    pid: int | None = None
    process_started: str | None = None
    """Start time of the process as the system tells it; a reused pid has another."""

    parent_pid: int | None = None
    client: str = ""
    """What its client calls itself."""

    session: str | None = None
    """The session it works in, by its public id."""

    token: str = ""
    """Name of the bearer token that its connection came with."""

    server_pid: int | None = None
    """The server process that its connection goes to."""

    server_started: str | None = None
    created_at: datetime
    active_at: datetime
    ended_at: datetime | None = None


def agent_status(agent: Agent, *, now: datetime, is_alive: bool) -> AgentStatus:
    """How an agent stands, from when it was last heard of and whether its process is there."""
    silence = now - agent.active_at
    if not is_alive or silence >= STALE_AFTER:
        return "stale"
    return "idle" if silence >= IDLE_AFTER else "active"


def check_start_in_iteration(iteration: Iteration, task_id: str) -> None:
    """One task an iteration: an agent that grabs a second one leaves both half done."""
    if iteration.task_started not in (None, task_id):
        raise Refused(
            f"iteration {iteration.number} already works on {iteration.task_started}",
            hint="finish it, write the iteration summary and stop; the next iteration takes the next task",
        )


def check_summary(iteration: Iteration) -> None:
    """One summary an iteration."""
    if iteration.summary:
        raise Refused(
            f"iteration {iteration.number} has its summary already", hint="stop here; the next iteration writes its own"
        )


def check_complete(open_tasks: Sequence[str]) -> None:
    """A session is complete when nothing is left open."""
    if open_tasks:
        more = f" and {len(open_tasks) - 5} more" if len(open_tasks) > 5 else ""
        raise Refused(
            f"{len(open_tasks)} task(s) are not finished: {', '.join(open_tasks[:5])}{more}",
            hint="finish, block or cancel them first",
        )
