"""Registered agents. Whether their processes are alive is for `lifecycle` to say, not for the store."""

from binnacle.errors import NotFound, did_you_mean
from binnacle.store import flow, tasks
from binnacle.store.ids import fresh_id
from binnacle.store.rows import Table
from binnacle.store.store import Reader, Writer
from binnacle.work.ids import AgentId, TaskId
from binnacle.work.session import Agent
from binnacle.work.text import clean_line

AGENTS = Table("agent", Agent, times=("created_at", "active_at", "ended_at"))


def register(
    tx: Writer,
    *,
    name: str,
    kind: str = "worker",
    pid: int | None = None,
    process_started: str | None = None,
    parent_pid: int | None = None,
) -> Agent:
    """Makes an agent known. One with a process was registered from a shell, one without by MCP."""
    agent = Agent(
        id=AgentId(fresh_id(tx, "agent", "bna-")),
        name=clean_line(name, what="agent name", limit=64),
        type=clean_line(kind, what="agent type", limit=32),
        registered="mcp" if pid is None else "shell",
        pid=pid,
        process_started=process_started,
        parent_pid=parent_pid,
        created_at=tx.now,
        active_at=tx.now,
    )
    AGENTS.insert(tx, [AGENTS.row(agent)])
    tx.record("agent", agent.id, "registered", {"name": agent.name, "type": agent.type})
    return agent


def update(tx: Writer, agent_id: str, *, name: str | None = None, kind: str | None = None) -> Agent:
    """Changes what an agent is called, or what it is. Nothing to change is no error."""
    agent = get(tx, agent_id)
    wanted = {
        "name": clean_line(name or agent.name, what="agent name", limit=64),
        "type": clean_line(kind or agent.type, what="agent type", limit=32),
    }
    changes = {field: value for field, value in wanted.items() if value != getattr(agent, field)}
    if changes:
        AGENTS.update(tx, changes, "id = ?", agent.id)
        tx.record("agent", agent.id, "updated", {field: [getattr(agent, field), changes[field]] for field in changes})
    return get(tx, agent.id)


def get(tx: Reader, agent_id: str) -> Agent:
    """The agent with this id, or an error naming the nearest one."""
    found = AGENTS.first(tx, "where id = ?", agent_id)
    if found is None:
        raise NotFound(f"no agent {agent_id!r}", hint=did_you_mean(agent_id, [agent.id for agent in listed(tx)]))
    return found


def listed(tx: Reader) -> list[Agent]:
    """The agents that have not ended."""
    return AGENTS.select(tx, "where ended_at is null order by number")


def touch(tx: Writer, agent_id: str) -> None:
    """Notes a sign of life; cheap, so it leaves no event."""
    AGENTS.update(tx, {"active_at": tx.now}, "id = ?", agent_id)


def end(tx: Writer, agent_id: str, *, reason: str = "") -> list[TaskId]:
    """Ends an agent and gives back what it held. Returns the tasks given back."""
    agent = get(tx, agent_id)
    held = tasks.held_by(tx, agent.id)
    for task in held:
        flow.release(tx, task.id, force=True)
    AGENTS.update(tx, {"ended_at": tx.now}, "id = ?", agent.id)
    tx.record("agent", agent.id, "ended", {"reason": reason, "released": [task.id for task in held]})
    return [task.id for task in held]
