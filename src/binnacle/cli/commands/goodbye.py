"""`bn goodbye`: an agent ends its registration, gives back its tasks, and ends its own process.

Over MCP nothing is signalled: the server is not the agent, and whose process it would end is not known there.
"""

import os
import signal
from argparse import Namespace
from typing import Any, NamedTuple

from binnacle.cli.command import READS, Group, arg, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import NotFound, Refused
from binnacle.lifecycle.agent_presence import process_of
from binnacle.lifecycle.process import Process, ancestors
from binnacle.store import agents, tasks
from binnacle.store.transaction import Reader
from binnacle.tools.agent_identity import find_in_shell, find_named, find_over_mcp
from binnacle.work.session import Agent

GOODBYE = Group("goodbye")

LINKED = {
    "should_terminate": True,
    "use_shell": True,
    "hint": "Agent must call 'bn goodbye' via shell tool to terminate",
}
UNLINKED = {
    "should_terminate": True,
    "use_shell": True,
    "warning": "No agent_id linked to MCP session. Agent should call goodbye via shell.",
    "hint": "Use binnacle-set_agent with agent_id from shell-based orient call",
}
GENERIC = {
    "terminated": False,
    "should_terminate": True,
    "warning": "Cannot terminate agent via MCP. Agent should self-terminate.",
}
"""The answers over MCP: to an agent registered from a shell, to an unknown one, and to one registered by MCP."""


class LeavingAgent(NamedTuple):
    """Who says goodbye, and the process that ends with it."""

    agent: Agent
    target: Process | None
    warning: str = ""
    """Why no process is ended, if none is."""


def _show(answer: Any, screen: Screen) -> None:
    if "agent_id" in answer:
        screen.line(f"Goodbye, {answer['agent_name']} ({answer['agent_id']})")
        if answer["released"]:
            screen.line(f"gives back: {', '.join(answer['released'])}")
        if answer["pid"]:
            words = "would end" if answer.get("dry_run") else "ended"
            screen.line(f"{words} process {answer['pid']} ({answer['process']})")
    for name, style in (("warning", "yellow"), ("hint", "cyan")):
        if text := answer.get(name):
            screen.line(f"{screen.styled(f'{name}:', style)} {text}")


@GOODBYE.command(
    "",
    "end this agent: its claims, its registration and its process",
    "bn goodbye 'all tests are green' --dry-run",
    arg("reason", nargs="?", default="", help="why; kept in the log"),
    arg("--dry-run", action="store_true", help="say what would happen, and do nothing"),
    arg("--force", action="store_true", help="also as a planner"),
    view=_show,
    needs=lambda args: READS if args.dry_run else changes("binnacle-goodbye"),
)
def goodbye(context: Context, args: Namespace) -> Any:
    if os.environ.get("BN_MCP_SESSION"):
        return _over_mcp(context, args)
    with context.reading() as tx:
        leaving = _leaving(tx)
        held = [task.id for task in tasks.list_held_by(tx, leaving.agent.id)]
    _check_planner(leaving.agent, force=args.force)
    answer = _answer(leaving, args, held)
    if args.dry_run:
        return answer | {"dry_run": True}
    # Before the signal: what ends may take this command with it.
    answer["released"] = _end(context, leaving.agent, args.reason)
    if leaving.target:
        answer["terminated"] = _end_process(leaving.target)
        answer["should_terminate"] = not answer["terminated"]
    return answer


def _leaving(tx: Reader) -> LeavingAgent:
    """Who runs this command.

    Raises:
        NotFound: no registered agent does.
    """
    above = ancestors()
    agent = find_in_shell(tx, os.environ)
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


def _over_mcp(context: Context, args: Namespace) -> Any:
    with context.reading() as tx:
        try:
            agent = find_named(tx, os.environ) or find_over_mcp(agents.list_agents(tx), os.environ)
        except NotFound:
            agent = None
    if agent is None:
        return UNLINKED
    if agent.registered == "shell":
        return LINKED
    _check_planner(agent, force=args.force)
    if not args.dry_run:
        _end(context, agent, args.reason)
    return GENERIC


def _check_planner(agent: Agent, *, force: bool) -> None:
    if agent.type == "planner" and not force:
        raise Refused(
            f"{agent.id} is a planner and stays with the person it plans with",
            hint="say goodbye when they are done with you: bn goodbye --force",
        )


def _answer(leaving: LeavingAgent, args: Namespace, held: list[Any]) -> dict[str, Any]:
    agent, target = leaving.agent, leaving.target
    answer = {
        "agent_id": agent.id,
        "agent_name": agent.name,
        "agent_type": agent.type,
        "reason": args.reason,
        "released": held,
        "pid": target.pid if target else None,
        "process": target.name if target else None,
        "terminated": False,
        "should_terminate": True,
    }
    return answer | ({"warning": leaving.warning} if leaving.warning else {})


def _end(context: Context, agent: Agent, reason: str) -> list[Any]:
    with context.writing() as tx:
        released: list[Any] = agents.end(tx, agent.id, reason=reason or "goodbye")
    return released


def _end_process(target: Process) -> bool:
    """Ends the process this command runs under, and outlives it long enough to see to it."""
    from binnacle.lifecycle.termination import terminate

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # what a dying agent and its terminal send to its children
    return terminate(target.pid, target.started, above=True) != "survived"
