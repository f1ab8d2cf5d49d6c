"""Whether a registered agent is there: its registration compared with the processes of this machine."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from binnacle.lifecycle.caller import ShellCaller
from binnacle.lifecycle.process import Process, find_process, is_alive, is_here, is_older
from binnacle.work.session import Agent, AgentStatus, agent_status


class AgentRegistration(TypedDict):
    """What is kept of a caller: its shell, the shell's start, and the agent above it if that is another process."""

    pid: int
    process_started: str
    parent_pid: int | None


def make_registration(caller: ShellCaller) -> AgentRegistration:
    """What to register for `caller`."""
    above = caller.agent.pid if caller.agent.pid != caller.shell.pid else None
    return {"pid": caller.shell.pid, "process_started": caller.shell.started, "parent_pid": above}


def process_of(agent: Agent) -> Process | None:
    """The agent's own process, if it is there and still the one that was registered.

    The start of the process above a shell is not kept and need not be: it was there when the shell
    started, so a process with its id that is younger than the shell is another one.
    """
    if agent.pid is None or agent.process_started is None:
        return None
    if agent.parent_pid is None:
        return shell_of(agent)
    found = find_process(agent.parent_pid)
    return found if found and is_older(found.started, than=agent.process_started) else None


def is_of_process(agent: Agent, process: Process) -> bool:
    """Whether an agent is this very process: the one it is connected from, or the one above its shell."""
    if agent.pid is None or agent.process_started is None:
        return False
    if agent.parent_pid is not None:
        return agent.parent_pid == process.pid and is_older(process.started, than=agent.process_started)
    return (agent.pid, agent.process_started) == (process.pid, process.started)


def shell_of(agent: Agent) -> Process | None:
    """The shell it was registered from, if that is still there. Many agents use a new one for every command."""
    found = find_process(agent.pid or 0)
    return found if found and found.started == agent.process_started else None


def is_present(agent: Agent) -> bool | None:
    """Whether the agent's process is there; None when that cannot be told from here.

    One without a process of its own is there as long as the server that it is connected to. One of another machine or
    container cannot be seen.
    """
    if agent.pid is None or agent.process_started is None:
        return has_server(agent)
    if not is_here(agent.process_started):
        return None
    if agent.parent_pid is None:
        return is_alive(agent.pid, agent.process_started)
    return process_of(agent) is not None or shell_of(agent) is not None


def has_server(agent: Agent) -> bool | None:
    """Whether the server process that an agent is connected to is there; None when that cannot be told."""
    if agent.server_pid is None or agent.server_started is None or not is_here(agent.server_started):
        return None
    return is_alive(agent.server_pid, agent.server_started)


def machine_of(agent: Agent) -> str:
    """The machine an agent runs on; empty if it never said."""
    return (agent.process_started or agent.server_started or "").partition("/")[0]


def current_status(agent: Agent, *, now: datetime) -> AgentStatus:
    """How an agent stands. One that cannot be seen counts as alive until it has been silent for too long."""
    return agent_status(agent, now=now, is_alive=is_present(agent) is not False)


def find_same_agent(agents: Sequence[Agent], caller: ShellCaller, *, name: str | None) -> Agent | None:
    """The agent that `caller` would register again: from the same shell, or from the next one of the same process.

    An agent that uses a new shell for every command stays the same agent, and so does one that is connected over MCP
    and has not registered yet. Two shells that live side by side are two agents, and so is one that gives itself
    another name.
    """
    found = _of_shell(agents, caller) or [
        agent
        for agent in _of_process(agents, caller)
        if agent.registered == "mcp" or (name in (None, agent.name) and shell_of(agent) is None)
    ]
    return found[-1] if found else None


def _of_shell(agents: Sequence[Agent], caller: ShellCaller) -> list[Agent]:
    return [agent for agent in agents if (shell := shell_of(agent)) and shell.pid == caller.shell.pid]


def _of_process(agents: Sequence[Agent], caller: ShellCaller) -> list[Agent]:
    # The caller's shell is compared too: a shell that was given a single command became `bn`, and what is
    # above `bn` then is the agent.
    pids = (caller.agent.pid, caller.shell.pid)
    return [agent for agent in agents if (process := process_of(agent)) and process.pid in pids]
