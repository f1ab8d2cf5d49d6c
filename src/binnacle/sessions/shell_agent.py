"""Agents that are known by a shell: how one registers from it, leaves it, and is ended by a person.

An agent that was registered by its MCP connection first is the same one when it registers from a shell. Over MCP, in
whose calls `BN_MCP_SESSION` is set, no process is known to be the agent's: it is registered without one.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from binnacle.errors import BinnacleError, InvalidInput, NotFound, Refused, WrongStatus, did_you_mean
from binnacle.lifecycle.agent_presence import find_same_agent, make_registration, process_of, shell_of
from binnacle.lifecycle.process import Process, ancestors, is_here
from binnacle.lifecycle.shell_caller import ShellCaller
from binnacle.store import agents
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.agent_identity import find_in_shell, find_named, find_over_mcp
from binnacle.tools.planned_session import AGENT_VARIABLE, MCP_VARIABLE
from binnacle.work.session import Agent

TYPES = ("worker", "planner", "reviewer", "buddy")


class LeavingAgent(NamedTuple):
    """Who says goodbye, and the process that ends with it."""

    agent: Agent
    target: Process | None
    warning: str = ""
    """Why no process is ended, if none is."""


class ShellRegistration(NamedTuple):
    """What an agent says of itself when it registers."""

    name: str | None
    type: str | None
    caller: ShellCaller | None
    """The shell it does so from; None over MCP."""

    environ: Mapping[str, str]


def find_or_register(tx: Writer, wanted: ShellRegistration) -> tuple[Agent, list[str]]:
    """The agent that registers, known already or new, and what it should be warned of.

    Raises:
        InvalidInput: BN_AGENT_TYPE has a type that there is not.
    """
    try:
        named = find_named(tx, wanted.environ)
    except BinnacleError as error:
        # Registering is the way out of a name that is no good, so it is not refused.
        agent = _find_known(tx, wanted) or _register(tx, wanted)
        return agent, [f"{error.message}: set {AGENT_VARIABLE} to {agent.id}."]
    return named or _find_known(tx, wanted) or _register(tx, wanted), []


def _find_known(tx: Writer, wanted: ShellRegistration) -> Agent | None:
    known, caller = agents.list_agents(tx), wanted.caller
    if caller is None:
        return find_over_mcp(known, wanted.environ)
    found = find_same_agent(known, caller, name=wanted.name)
    if found is not None and found.registered == "mcp":
        # It was known by its connection; now it is also known by a shell, and can be ended with its process.
        return agents.register_shell(tx, found.id, **make_registration(caller))
    return found


def _register(tx: Writer, wanted: ShellRegistration) -> Agent:
    kind = wanted.type or wanted.environ.get("BN_AGENT_TYPE", "").strip() or "worker"
    if kind not in TYPES:
        raise InvalidInput(f"unknown agent type in BN_AGENT_TYPE: {kind!r}", hint=did_you_mean(kind, TYPES))
    caller = wanted.caller
    default = f"agent-{caller.shell.pid if caller else os.getppid()}"
    name = wanted.name or wanted.environ.get("BN_AGENT_NAME", "").strip() or default
    if caller is None:
        return agents.register(tx, name=name, kind=kind, session=wanted.environ.get(MCP_VARIABLE))
    return agents.register(tx, name=name, kind=kind, is_shell=True, **make_registration(caller))


def find_leaving(tx: Reader, environ: Mapping[str, str]) -> LeavingAgent:
    """The agent in whose shell this process runs.

    Raises:
        NotFound: it belongs to no registered agent.
    """
    above = ancestors()
    agent = find_in_shell(tx, environ)
    if agent is None:
        raise NotFound(
            "this shell belongs to no registered agent",
            hint="register first: bn orient; or end your process yourself",
        )
    target = process_of(agent)
    if target is None:
        return LeavingAgent(agent, None, "The registered process is gone. End your process yourself.")
    if target.pid == 1:
        return LeavingAgent(agent, None, "Process 1 is never signalled. End your process yourself.")
    if target.pid not in {process.pid for process in above}:
        hint = f"Process {target.pid} is not above this command. End it with: bn agent kill {agent.id}"
        return LeavingAgent(agent, None, hint)
    return LeavingAgent(agent, target)


def processes_to_end(agent: Agent) -> list[Process]:
    """The agent's own process and the shell it registered from, without those this process runs under.

    A terminal that started both the agent and this process is above both, and is spared.

    Raises:
        WrongStatus: the agent has ended.
        Refused: it runs elsewhere, or this process runs under it.
    """
    if agent.ended_at is not None:
        raise WrongStatus(
            f"{agent.id} ended at {agent.ended_at:%Y-%m-%d %H:%M} UTC", hint="who is there: bn agent list"
        )
    if agent.registered == "mcp":
        return []  # its process is the client that people may work in; only its registration is ended
    if agent.process_started and not is_here(agent.process_started):
        machine = agent.process_started.partition("/")[0]
        raise Refused(
            f"{agent.id} runs elsewhere, on {machine!r}",
            hint="end it there; bn agent reap takes it off the list when it has been silent for half an hour",
        )
    there = dict.fromkeys(process for process in (process_of(agent), shell_of(agent)) if process)
    above = {process.pid for process in ancestors()}
    targets = [process for process in there if process.pid not in above]
    if there and not targets:
        raise Refused(f"this command runs under {agent.id}", hint="an agent ends itself with: bn goodbye")
    return targets
