"""`bn goodbye`: an agent ends its registration, gives back its tasks, and ends its own process.

Over MCP nothing is signalled: the server is not the agent, and whose process it would end is not known there.
"""

import os
import signal
from argparse import Namespace

from msgspec.structs import replace

from binnacle.cli.command import READS, CommandAnswer, Group, arg, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import NotFound, Refused
from binnacle.lifecycle.process import Process
from binnacle.sessions.shell_agent import LeavingAgent, find_leaving
from binnacle.store import agents, tasks
from binnacle.tools.agent_identity import find_named, find_over_mcp
from binnacle.work.ids import TaskId
from binnacle.work.session import Agent

GOODBYE = Group("goodbye")


class GoodbyeAnswer(CommandAnswer):
    """Who said goodbye, what it gives back, and what became of its process."""

    agent_id: str
    agent_name: str
    agent_type: str
    reason: str
    released: list[TaskId]
    pid: int | None
    process: str | None
    terminated: bool
    should_terminate: bool
    """Whether the agent is still to end its process itself."""

    warning: str = ""
    dry_run: bool = False


class McpGoodbyeAnswer(CommandAnswer, kw_only=True):
    """What an agent is to do that says goodbye over MCP."""

    terminated: bool | None = None
    should_terminate: bool
    use_shell: bool | None = None
    warning: str = ""
    hint: str = ""


LINKED = McpGoodbyeAnswer(
    should_terminate=True, use_shell=True, hint="Agent must call 'bn goodbye' via shell tool to terminate"
)
UNLINKED = McpGoodbyeAnswer(
    should_terminate=True,
    use_shell=True,
    warning="No agent_id linked to MCP session. Agent should call goodbye via shell.",
    hint="Use binnacle-set_agent with agent_id from shell-based orient call",
)
GENERIC = McpGoodbyeAnswer(
    terminated=False,
    should_terminate=True,
    warning="Cannot terminate agent via MCP. Agent should self-terminate.",
)
"""The answers over MCP: to an agent registered from a shell, to an unknown one, and to one registered by MCP."""


def _show(answer: GoodbyeAnswer | McpGoodbyeAnswer, screen: Screen) -> None:
    if isinstance(answer, GoodbyeAnswer):
        screen.line(f"Goodbye, {answer.agent_name} ({answer.agent_id})")
        if answer.released:
            screen.line(f"gives back: {', '.join(answer.released)}")
        if answer.pid:
            words = "would end" if answer.dry_run else "ended"
            screen.line(f"{words} process {answer.pid} ({answer.process})")
    if answer.warning:
        screen.line(f"{screen.styled('warning:', 'yellow')} {answer.warning}")
    if isinstance(answer, McpGoodbyeAnswer) and answer.hint:
        screen.line(f"{screen.styled('hint:', 'cyan')} {answer.hint}")


@GOODBYE.command(
    "",
    "end this agent: its claims, its registration and its process",
    "bn goodbye 'all tests are green' --dry-run",
    arg("reason", nargs="?", default="", help="why; kept in the log"),
    arg("--dry-run", action="store_true", help="only say what would happen"),
    arg("--force", action="store_true", help="even as a planner"),
    view=_show,
    needs=lambda args: READS if args.dry_run else changes("binnacle-goodbye"),
)
def goodbye(context: Context, args: Namespace) -> GoodbyeAnswer | McpGoodbyeAnswer:
    if os.environ.get("BN_MCP_SESSION"):
        return _over_mcp(context, args)
    with context.reading() as tx:
        leaving = find_leaving(tx, os.environ)
        held = [task.id for task in tasks.list_held_by(tx, leaving.agent.id)]
    _check_planner(leaving.agent, force=args.force)
    answer = _answer(leaving, args, held)
    if args.dry_run:
        return replace(answer, dry_run=True)
    # Before the signal: what ends may take this command with it.
    answer = replace(answer, released=_end(context, leaving.agent, args.reason))
    if leaving.target is None:
        return answer
    is_ended = _end_process(leaving.target)
    return replace(answer, terminated=is_ended, should_terminate=not is_ended)


def _over_mcp(context: Context, args: Namespace) -> McpGoodbyeAnswer:
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
            hint="when they no longer need you: bn goodbye --force",
        )


def _answer(leaving: LeavingAgent, args: Namespace, held: list[TaskId]) -> GoodbyeAnswer:
    agent, target = leaving.agent, leaving.target
    return GoodbyeAnswer(
        agent_id=agent.id,
        agent_name=agent.name,
        agent_type=agent.type,
        reason=args.reason,
        released=held,
        pid=target.pid if target else None,
        process=target.name if target else None,
        terminated=False,
        should_terminate=True,
        warning=leaving.warning,
    )


def _end(context: Context, agent: Agent, reason: str) -> list[TaskId]:
    with context.writing() as tx:
        return agents.end(tx, agent.id, reason=reason or "goodbye")


def _end_process(target: Process) -> bool:
    """Ends the process this command runs under, and outlives it long enough to see to it."""
    from binnacle.lifecycle.termination import terminate

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # what a dying agent and its terminal send to its children
    return terminate(target.pid, target.started, above=True) != "survived"
