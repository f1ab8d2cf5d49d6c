"""The registered agents as people see them, and how a person ends one."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from binnacle.errors import Ambiguous
from binnacle.lifecycle.agent_presence import current_status, is_present, machine_of
from binnacle.lifecycle.process import Process
from binnacle.sessions.shell_agent import processes_to_end
from binnacle.store import agents, events, sessions, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.work.ids import TaskId
from binnacle.work.session import Agent, is_planned


class RegisteredAgent(Struct, frozen=True, kw_only=True):
    """An agent as a list shows it."""

    id: str
    name: str
    type: str
    status: str
    """`active`, `idle`, `stale`, or `ended`."""

    alive: bool | None
    """Whether its process is there; None if that cannot be seen from here."""

    registered: str
    client: str
    session: str | None
    host: str
    pid: int | None
    parent_pid: int | None
    current_task: TaskId | None
    created_at: datetime
    active_at: datetime


class EndedAgent(Struct, frozen=True, kw_only=True):
    """An agent that was ended, with its processes."""

    id: str
    name: str
    terminated: bool
    how: str
    pids: list[int]
    released: list[TaskId]


class LeftProcesses(NamedTuple):
    """An agent whose registration has ended, and its processes, which are still to be ended."""

    agent: Agent
    processes: Sequence[Process]
    released: list[TaskId]


def find_agent(tx: Reader, text: str) -> Agent:
    """The agent with this id, or with this name if only one has it.

    Raises:
        NotFound: there is none.
        Ambiguous: several have this name.
    """
    named = [agent for agent in agents.list_agents(tx) if agent.name == text]
    if len(named) > 1:
        raise Ambiguous(f"several agents are called {text!r}", hint=f"one of: {', '.join(one.id for one in named)}")
    return named[0] if named else agents.get(tx, text)


def describe_agent(tx: Reader, agent: Agent) -> RegisteredAgent:
    """An agent as a list shows it."""
    held = tasks.list_held_by(tx, agent.id)
    return RegisteredAgent(
        id=agent.id,
        name=agent.name,
        type=agent.type,
        status="ended" if agent.ended_at else current_status(agent, now=tx.now),
        alive=is_present(agent),
        registered=agent.registered,
        client=agent.client,
        session=agent.session,
        host=machine_of(agent),
        pid=agent.pid,
        parent_pid=agent.parent_pid,
        current_task=held[0].id if held else None,
        created_at=agent.created_at,
        active_at=agent.active_at,
    )


def find_purpose(tx: Reader, agent: Agent) -> str:
    """What the agent last said it is there for; kept in the event log."""
    found = events.list_events(tx, entity_id=agent.id, limit=100)
    said = [event.changes for event in found if event.action == "purpose"]
    return str(said[-1]["purpose"]) if said else ""


def end_registration(tx: Writer, text: str, *, reason: str) -> LeftProcesses:
    """Ends the registration of an agent and gives back its tasks, if its processes may be ended.

    Raises:
        Refused: they may not: it runs elsewhere, or we run under it.
    """
    from binnacle.lifecycle.termination import check_may_end

    agent = find_agent(tx, text)
    targets = processes_to_end(agent)
    for process in targets:
        check_may_end(process.pid)
    released = agents.end(tx, agent.id, reason=reason)
    if is_planned(agent.id):
        sessions.abort(tx, agent.id, reason=reason)
    return LeftProcesses(agent, targets, released)


def end_processes(left: LeftProcesses, *, grace: float) -> EndedAgent:
    """Ends the processes of an agent that has no registration any more; waits `grace` seconds for each."""
    from binnacle.lifecycle.termination import terminate

    agent = left.agent
    endings = [terminate(process.pid, process.started, grace=grace) for process in left.processes]
    without = "gone" if agent.registered == "shell" else "unregistered; its client goes on"
    return EndedAgent(
        id=agent.id,
        name=agent.name,
        terminated="terminated" in endings or "killed" in endings,
        how=endings[0] if endings else without,
        pids=[process.pid for process in left.processes],
        released=left.released,
    )
