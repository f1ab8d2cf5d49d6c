"""Registered agents. `lifecycle`, not the store, knows whether their processes are alive."""

from collections.abc import Collection
from typing import TypedDict, Unpack

from binnacle.errors import NotFound, NotReady, did_you_mean
from binnacle.store import task_moves, tasks
from binnacle.store.claim_holders import AGENTS
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.ids import AgentId, TaskId
from binnacle.work.session import Agent
from binnacle.work.text import clean_line

MAX_NAME_LENGTH = 64


class AgentConnection(TypedDict, total=False):
    """Where an agent's calls come from, by column."""

    pid: int | None
    process_started: str | None
    parent_pid: int | None
    client: str
    session: str | None
    token: str
    server_pid: int | None
    server_started: str | None


def register(
    tx: Writer,
    *,
    name: str,
    kind: str = "worker",
    agent_id: str | None = None,
    is_shell: bool = False,
    **connection: Unpack[AgentConnection],
) -> Agent:
    """Registers an agent, under a new id unless it has one already, as a planned session has.

    With `is_shell`, it registered itself in its shell, so that its process can be ended.
    """
    agent = Agent(
        id=AgentId(agent_id or fresh_id(tx, "agent", "bna-")),
        name=clean_line(name, what="agent name", limit=MAX_NAME_LENGTH),
        type=clean_line(kind, what="agent type", limit=32),
        registered="shell" if is_shell else "mcp",
        created_at=tx.now,
        active_at=tx.now,
        **connection,
    )
    AGENTS.insert(tx, [AGENTS.row(agent)])
    tx.record("agent", agent.id, "registered", {"name": agent.name, "type": agent.type})
    return agent


def find_free_name(tx: Reader, wanted: str) -> str:
    """`wanted`, with a number appended if another agent that has not ended has that name."""
    taken = {agent.name for agent in list_agents(tx)}
    wanted = wanted[: MAX_NAME_LENGTH - 4]
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def connect(tx: Writer, agent_id: str, **connection: Unpack[AgentConnection]) -> Agent:
    """Notes where an agent's calls come from now. It counts as a sign of life."""
    AGENTS.update(tx, {**connection, "active_at": tx.now}, "id = ?", agent_id)
    return get(tx, agent_id)


def register_shell(tx: Writer, agent_id: str, **connection: Unpack[AgentConnection]) -> Agent:
    """Notes that an agent has also registered itself in its shell."""
    AGENTS.update(tx, {**connection, "registered": "shell", "active_at": tx.now}, "id = ?", agent_id)
    tx.record("agent", agent_id, "updated", {"registered": ["mcp", "shell"]})
    return get(tx, agent_id)


def update(tx: Writer, agent_id: str, *, name: str | None = None, kind: str | None = None) -> Agent:
    """Changes the name or type of an agent. No change is not an error."""
    agent = get(tx, agent_id)
    wanted = {
        "name": clean_line(name or agent.name, what="agent name", limit=MAX_NAME_LENGTH),
        "type": clean_line(kind or agent.type, what="agent type", limit=32),
    }
    changes = {field: value for field, value in wanted.items() if value != getattr(agent, field)}
    if changes:
        AGENTS.update(tx, changes, "id = ?", agent.id)
        tx.record("agent", agent.id, "updated", {field: [getattr(agent, field), changes[field]] for field in changes})
    return get(tx, agent.id)


def get(tx: Reader, agent_id: str) -> Agent:
    """The agent with this id; the error names the nearest one."""
    found = find(tx, agent_id)
    if found is None:
        raise NotFound(f"no agent {agent_id!r}", hint=did_you_mean(agent_id, [agent.id for agent in list_agents(tx)]))
    return found


def find(tx: Reader, agent_id: str) -> Agent | None:
    """The agent with this id, if there ever was one."""
    return AGENTS.first(tx, "where id = ?", agent_id)


def get_active(tx: Reader, agent_id: str) -> Agent:
    """The agent with this id.

    Raises:
        NotFound: there is none, or it has ended. The message says which.
    """
    found = find(tx, agent_id)
    if found is None:
        raise NotFound(f"Agent {agent_id} not found in registry", hint=steps.REGISTER)
    if found.ended_at is not None:
        raise NotFound(
            f"Agent {agent_id} not found in registry: it ended at {found.ended_at:%Y-%m-%d %H:%M} UTC",
            hint=steps.REGISTER_AGAIN,
        )
    return found


def find_names(tx: Reader, ids: Collection[str]) -> dict[str, str]:
    """The names of those of some actors that are agents, by id."""
    wanted = list(ids)
    if not wanted:
        return {}
    rows = tx.rows(f"select id, name from agent where id in {placeholders(wanted)}", *wanted)
    return {row[0]: row[1] for row in rows}


def list_agents(tx: Reader) -> list[Agent]:
    """The agents that have not ended."""
    return AGENTS.select(tx, "where ended_at is null order by number")


def list_ended(tx: Reader, *, limit: int) -> list[Agent]:
    """The agents that have ended, the last one first."""
    return AGENTS.select(tx, "where ended_at is not null order by ended_at desc, number desc limit ?", limit)


def confirm(tx: Writer, *, is_sign_of_life: bool = False) -> None:
    """Checks that the acting agent has not ended; may note a sign of life.

    Raises:
        NotReady: it has ended.
    """
    if tx.by.name == tx.session:
        return  # a planned session acts under its own id, and its status decides
    row = tx.row("select ended_at from agent where id = ?", tx.by.name)
    if row is not None and row[0] is not None:
        raise NotReady(
            f"agent {tx.by.name} has ended: it signed off, or someone ended it",
            hint=steps.REGISTER_AGAIN,
        )
    if row is not None and is_sign_of_life:
        touch(tx, tx.by.name)


def touch(tx: Writer, agent_id: str) -> None:
    """Notes a sign of life. It records no event, because it is frequent."""
    AGENTS.update(tx, {"active_at": tx.now}, "id = ?", agent_id)


def end(tx: Writer, agent_id: str, *, reason: str = "") -> list[TaskId]:
    """Ends an agent and gives back its tasks. Returns these tasks."""
    agent = get(tx, agent_id)
    held = tasks.list_held_by(tx, agent.id)
    for task in held:
        task_moves.release(tx, task.id, force=True)
    AGENTS.update(tx, {"ended_at": tx.now}, "id = ?", agent.id)
    tx.record("agent", agent.id, "ended", {"reason": reason, "released": [task.id for task in held]})
    return [task.id for task in held]


def join_session(tx: Writer, session_id: str, *, name: str, **connection: Unpack[AgentConnection]) -> Agent:
    """The agent of a planned session, which has the session's id; it uses `connection` from now on."""
    if find(tx, session_id) is None:
        register(tx, name=name, agent_id=session_id)
    AGENTS.update(tx, {"session": session_id, "ended_at": None}, "id = ?", session_id)
    return connect(tx, session_id, **connection)
