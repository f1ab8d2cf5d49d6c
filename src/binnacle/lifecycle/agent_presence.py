"""Whether a registered agent is alive: compares its registration with the processes of this machine."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from binnacle.lifecycle.process import Process, find_process, is_alive, is_here, is_older
from binnacle.lifecycle.shell_caller import ShellCaller
from binnacle.work.session import Agent, AgentStatus, agent_status


class AgentRegistration(TypedDict):
    """What is stored about a caller: its shell, the shell's start, and the agent's process if it is another one."""

    pid: int
    process_started: str
    parent_pid: int | None


def make_registration(caller: ShellCaller) -> AgentRegistration:
    """The registration of `caller`."""
    above = caller.agent.pid if caller.agent.pid != caller.shell.pid else None
    return {"pid": caller.shell.pid, "process_started": caller.shell.started, "parent_pid": above}


def process_of(agent: Agent) -> Process | None:
    """The agent's own process, if it is alive and still the one that was registered.

    The start of a shell's parent is not stored, because it existed when the shell started: a
    process with its id that is younger than the shell is another one.
    """
    if agent.pid is None or agent.process_started is None:
        return None
    if agent.parent_pid is None:
        return shell_of(agent)
    found = find_process(agent.parent_pid)
    return found if found and is_older(found.started, than=agent.process_started) else None


def is_of_process(agent: Agent, process: Process) -> bool:
    """Whether an agent is this process: the one that it is connected from, or the parent of its shell."""
    if agent.pid is None or agent.process_started is None:
        return False
    if agent.parent_pid is not None:
        return agent.parent_pid == process.pid and is_older(process.started, than=agent.process_started)
    return (agent.pid, agent.process_started) == (process.pid, process.started)


def shell_of(agent: Agent) -> Process | None:
    """The shell that registered it, if that is alive. Many agents use a new shell for every command."""
    found = find_process(agent.pid or 0)
    return found if found and found.started == agent.process_started else None


def is_present(agent: Agent) -> bool | None:
    """Whether the agent's process is alive; None if that is unknown.

    An agent without its own process is alive as long as the server that it is connected to. Processes of another
    machine or container are not visible.
    """
    if agent.pid is None or agent.process_started is None:
        return has_server(agent)
    if not is_here(agent.process_started):
        return None
    if agent.parent_pid is None:
        return is_alive(agent.pid, agent.process_started)
    return process_of(agent) is not None or shell_of(agent) is not None


def has_server(agent: Agent) -> bool | None:
    """Whether the server process that an agent is connected to is alive; None if that is unknown."""
    if agent.server_pid is None or agent.server_started is None or not is_here(agent.server_started):
        return None
    return is_alive(agent.server_pid, agent.server_started)


def machine_of(agent: Agent) -> str:
    """The machine that an agent runs on; empty if unknown."""
    return (agent.process_started or agent.server_started or "").partition("/")[0]


def current_status(agent: Agent, *, now: datetime) -> AgentStatus:
    """The status of an agent. One that is not visible counts as alive until it has been silent for too long."""
    return agent_status(agent, now=now, is_alive=is_present(agent) is not False)


def find_same_agent(agents: Sequence[Agent], caller: ShellCaller, *, name: str | None) -> Agent | None:
    """The agent that `caller` already is: registered from the same shell, or from an earlier one of the same process.

    An agent that uses a new shell for every command stays the same agent, and so does one that is connected over MCP
    and has not registered yet. Two shells that are alive at the same time are two agents, and so are two names.
    """
    found = _list_of_shell(agents, caller) or [
        agent
        for agent in _list_of_process(agents, caller)
        if agent.registered == "mcp" or (name in (None, agent.name) and shell_of(agent) is None)
    ]
    return found[-1] if found else None


def _list_of_shell(agents: Sequence[Agent], caller: ShellCaller) -> list[Agent]:
    return [agent for agent in agents if (shell := shell_of(agent)) and shell.pid == caller.shell.pid]


def _list_of_process(agents: Sequence[Agent], caller: ShellCaller) -> list[Agent]:
    # The caller's shell is compared too: a shell with a single command becomes `bn`, and then the parent
    # of `bn` is the agent.
    pids = (caller.agent.pid, caller.shell.pid)
    return [agent for agent in agents if (process := process_of(agent)) and process.pid in pids]
