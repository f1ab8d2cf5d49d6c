"""Which registered agent a caller is.

By default an agent is its client process: the process that started an MCP server, that is at the other end of a
loopback connection, or that is an ancestor of the shell in which `bn` runs. So the shell and the MCP connection of a
client are one agent without any setup, and its claims end with the process.

Two connections that one process has open at the same time are two agents. A process that connects again is the same
agent as before. What a caller says about itself (BN_SESSION, BN_AGENT_ID, a handle) comes first.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from binnacle.config.access_tokens import id_of
from binnacle.errors import NotReady, Refused
from binnacle.lifecycle.agent_presence import current_status, has_server, is_of_process, is_present, shell_of
from binnacle.lifecycle.process import Process, ancestors
from binnacle.store import agents, sessions, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.client_facts import ClientFacts
from binnacle.tools.planned_session import (
    AGENT_VARIABLE,
    MCP_VARIABLE,
    SESSION_VARIABLE,
    find_by_secret_above,
    find_by_server,
)
from binnacle.work.session import Agent, is_planned


def _describe_connection(facts: ClientFacts) -> agents.AgentConnection:
    """Where an agent's calls come from, as the store keeps it."""
    process = facts.process
    return {
        "pid": process.pid if process else None,
        "process_started": process.started if process else None,
        "client": facts.client,
        "session": facts.session,
        "token": facts.token,
        "server_pid": facts.server.pid,
        "server_started": facts.server.started,
    }


def find_or_register(tx: Writer, facts: ClientFacts, *, name: str | None = None, open_here: Collection[str]) -> Agent:
    """The agent of a connection: the one that its process was before, or a new one.

    `open_here` are the sessions that this server has open; their agents are taken. A new agent gets the `name`; an
    agent that was found keeps its own.
    """
    reap(tx, only_gone=True)
    found = find_resumed(tx, facts, open_here=open_here)
    return link(tx, found, facts) if found else register_new(tx, facts, name=name)


def find_resumed(tx: Reader, facts: ClientFacts, *, open_here: Collection[str]) -> Agent | None:
    """The agent that a connection resumes, or None. If there are several, the one that holds a task."""
    found = [agent for agent in agents.list_agents(tx) if _may_resume(agent, facts, open_here)]
    holding = [agent for agent in found if tasks.list_held_by(tx, agent.id)]
    return next(iter(holding or found), None)


def register_new(tx: Writer, facts: ClientFacts, *, name: str | None) -> Agent:
    """Registers another agent for the same connection."""
    wanted = name or agents.find_free_name(tx, facts.client or "agent")
    return agents.register(tx, name=wanted, **_describe_connection(facts))


def link(tx: Writer, agent: Agent, facts: ClientFacts) -> Agent:
    """Makes a connection the one that an agent calls through from now on."""
    mine = _describe_connection(facts)
    if agent.registered == "shell" or is_present(agent):
        # The process that it registered from identifies it, even if it calls through another one.
        mine = {**mine, "pid": agent.pid, "process_started": agent.process_started}
    return agents.connect(tx, agent.id, **mine)


def _may_resume(agent: Agent, facts: ClientFacts, open_here: Collection[str]) -> bool:
    """Whether a connection resumes this agent: the process is the same, and its earlier connection is closed."""
    if facts.process is None or not is_of_process(agent, facts.process):
        return False
    if agent.server_pid is not None and agent.token != facts.token:
        return False  # clients with different tokens share nothing, even in one process
    is_ours = (agent.server_pid, agent.server_started) == (facts.server.pid, facts.server.started)
    return agent.session not in open_here if is_ours else not has_server(agent)


def find_in_shell(tx: Reader, environ: Mapping[str, str]) -> Agent | None:
    """The agent in whose shell a command runs; None when a person runs it.

    Raises:
        NotFound: BN_AGENT_ID names an agent that is unknown or has ended.
        NotReady: BN_SESSION is not the secret of an active session.
        Refused: the ancestor process is several agents, and nothing says which of them this is.
    """
    if not environ.get(SESSION_VARIABLE, "").strip() and (session := find_by_secret_above(tx)):
        return agents.get_active(tx, session.id)
    if (named := find_named(tx, environ)) is not None:
        return named
    if (session := find_by_server(tx, environ)) is not None:
        return agents.get_active(tx, session.id)
    known = [agent for agent in agents.list_agents(tx) if agent.pid is not None]
    if not known:
        return None  # saves looking at processes
    return _find_among_ancestors(known, ancestors())


def find_named(tx: Reader, environ: Mapping[str, str]) -> Agent | None:
    """The agent that the environment names; None if it names none. Raises like `find_in_shell`."""
    if secret := environ.get(SESSION_VARIABLE, "").strip():
        return _get_by_secret(tx, secret)
    if named := environ.get(AGENT_VARIABLE, "").strip():
        return agents.get_active(tx, named)
    return None


def find_over_mcp(known: Sequence[Agent], environ: Mapping[str, str]) -> Agent | None:
    """The agent without a process that registered itself in the MCP session that runs this command."""
    session = environ.get(MCP_VARIABLE)
    return next((agent for agent in known if session and agent.registered == "mcp" and agent.session == session), None)


def _get_by_secret(tx: Reader, secret: str) -> Agent:
    session = sessions.find_by_secret(tx, secret)
    if session is None:
        raise NotReady(
            f"{SESSION_VARIABLE} is not the secret of an active session: {id_of(secret)!r}",
            hint="the session has ended; stop here, and leave the next step to the person who started it",
        )
    return agents.get_active(tx, session.id)


def _find_among_ancestors(known: Sequence[Agent], above: Sequence[Process]) -> Agent | None:
    """The agent of the nearest ancestor process or shell: an agent may run another agent in its shell."""
    pids = {process.pid for process in above}
    with_shell = (agent for agent in known if agent.pid in pids and agent.registered == "shell" and shell_of(agent))
    shells = {agent.pid: agent for agent in with_shell}
    for process in above:
        if process.pid in shells:
            return shells[process.pid]
        found = [agent for agent in known if is_of_process(agent, process)]
        if found:
            return _choose_only(found, process)
    return None


def _choose_only(found: Sequence[Agent], process: Process) -> Agent:
    """The agent that a process is. If there are several, only connected ones count."""
    connected = [agent for agent in found if agent.registered == "shell" or has_server(agent)] or found[:1]
    if len(connected) > 1:
        names = ", ".join(f"{agent.id} ({agent.name})" for agent in connected)
        raise Refused(
            f"process {process.pid} is several agents, and nothing says which of them this is: {names}",
            hint=f"choose one: {AGENT_VARIABLE}={connected[0].id} bn …",
        )
    return connected[0]


class ReapedAgent(NamedTuple):
    """A stale agent whose registration was ended."""

    agent: Agent
    how: str
    """Why it counts as stale."""

    released: list[str]
    """The tasks given back."""


def reap(tx: Writer, *, only_gone: bool = False) -> list[ReapedAgent]:
    """Ends the registration of every stale agent and gives back its tasks. It signals no process.

    With `only_gone`, only agents whose process is gone count, not silent ones.
    """
    found = []
    for agent in agents.list_agents(tx):
        if is_planned(agent.id):
            continue  # it ends with its session
        is_gone = is_present(agent) is False
        if is_gone or (not only_gone and current_status(agent, now=tx.now) == "stale"):
            how = "its process is gone" if is_gone else f"silent since {agent.active_at:%H:%M} UTC"
            released: list[str] = list(agents.end(tx, agent.id, reason=f"stale: {how}"))
            found.append(ReapedAgent(agent, how, released))
    return found
