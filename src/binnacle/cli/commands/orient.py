"""`bn orient`: an agent makes itself known and learns how the project stands."""

import os
from argparse import Namespace

from binnacle.cli.command import CommandAnswer, Group, arg, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.lifecycle.process import ancestors
from binnacle.lifecycle.shell_caller import ShellCaller, find_caller
from binnacle.sessions.shell_agent import TYPES, ShellRegistration, find_or_register
from binnacle.store import agents, queue, tasks
from binnacle.store.transaction import Reader
from binnacle.store.views import overview
from binnacle.tools.agent_identity import reap
from binnacle.tools.planned_session import MCP_VARIABLE
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.ids import TaskId
from binnacle.work.session import Agent
from binnacle.work.text import clean_optional_line

ORIENT = Group("orient")

MAX_SHOWN_TASKS = 20
"""Ready tasks named in the answer; an agent takes one."""

MCP_HINT = "Call binnacle-set_agent with this agent_id to link MCP calls to this registration"
MCP_WARNING = (
    "Agent registered via MCP. Goodbye will not terminate process. Use shell tools for full lifecycle support."
)


class OrientAnswer(CommandAnswer):
    """Who the agent is, and how the project stands in what it needs to choose a task."""

    agent_id: str
    name: str
    type: str
    pid: int | None
    parent_pid: int | None
    mcp_hint: str
    repo: str
    current_task: TaskId | None
    total_tasks: int
    ready_count: int
    in_progress_count: int
    blocked_count: int
    ready_ids: list[TaskId]
    queue: list[TaskId]
    warning: str = ""


def _show(answer: OrientAnswer, screen: Screen) -> None:
    screen.line(f"Agent registered: {answer.name} ({answer.agent_id})")
    if answer.pid:
        screen.line(f"PID: {answer.pid} | Parent: {answer.parent_pid}")
    if warning := answer.warning:
        screen.line(f"{screen.styled('warning:', 'yellow')} {warning}")
    screen.line()
    screen.line("To link MCP calls to this agent, call:")
    screen.line(f'  binnacle-set_agent(path="{answer.repo}", agent_id="{answer.agent_id}")')
    screen.line()
    counts = f"{answer.ready_count} ready, {answer.in_progress_count} in progress, {answer.blocked_count} blocked"
    screen.line(f"{answer.total_tasks} tasks: {counts}")
    for title, ids in (("Ready", answer.ready_ids), ("Queue", answer.queue)):
        if ids:
            screen.line(f"{title}: {', '.join(ids)}")
    held = answer.current_task
    screen.line(f"You work on: {held}" if held else "Take a task with: bn next --claim")


@ORIENT.command(
    "",
    "register as an agent and see the state of the project",
    "bn orient --name mender --type worker",
    arg("-n", "--name", help="its name; default: BN_AGENT_NAME, or agent- and the process id"),
    arg("-t", "--type", choices=TYPES, help="default: BN_AGENT_TYPE, or worker"),
    arg("--register", metavar="PURPOSE", help="your purpose, in a line; kept in the log"),
    view=_show,
    needs=changes("binnacle-orient"),
)
def orient(context: Context, args: Namespace) -> OrientAnswer:
    purpose = clean_optional_line(args.register or "", what="purpose")
    over_mcp = bool(os.environ.get(MCP_VARIABLE))
    caller = None if over_mcp else find_caller(ancestors())
    with context.store(create=True).write(by=SYSTEM) as tx:
        agent, warnings = find_or_register(tx, ShellRegistration(args.name, args.type, caller, os.environ))
        with tx.acting_as(Actor(agent.id, "agent"), session=agent.session):
            agent = agents.update(tx, agent.id, name=args.name, kind=args.type)
            if purpose:
                tx.record("agent", agent.id, "purpose", {"purpose": purpose})
        agents.touch(tx, agent.id)
        reap(tx)
    if agent.registered == "mcp":
        warnings.append(MCP_WARNING)
    with context.reading() as reader:
        return _answer(reader, agent, caller, context.project.repo, " ".join(warnings))


def _answer(tx: Reader, agent: Agent, caller: ShellCaller | None, repo: str, warning: str) -> OrientAnswer:
    counts = overview.load_overview(tx)
    ready, total = tasks.list_ready(tx, limit=MAX_SHOWN_TASKS)
    held = tasks.list_held_by(tx, agent.id)
    return OrientAnswer(
        agent_id=agent.id,
        name=agent.name,
        type=agent.type,
        pid=caller.shell.pid if caller else agent.pid,
        parent_pid=caller.shell.parent_pid if caller else agent.parent_pid,
        mcp_hint=MCP_HINT,
        repo=repo,
        current_task=held[0].id if held else None,
        total_tasks=counts.tasks,
        ready_count=total,
        in_progress_count=counts.by_status.get("in_progress", 0),
        blocked_count=tasks.list_blocked(tx, limit=1)[1],
        ready_ids=[task.id for task in ready],
        queue=[task.id for task in queue.list_queue(tx)],
        warning=warning,
    )
