"""`bn agent`: the registered agents, whether they are there, and how to be rid of one."""

from argparse import Namespace
from datetime import datetime

from msgspec.structs import asdict

from binnacle.app.registered_agents import (
    EndedAgent,
    RegisteredAgent,
    describe_agent,
    end_processes,
    end_registration,
    find_agent,
    find_purpose,
)
from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput
from binnacle.lifecycle.agent_presence import process_of
from binnacle.store import agents, tasks
from binnacle.tools.agent_identity import reap
from binnacle.work.task import Brief, brief

AGENT = Group("agent")

ID = arg("id", metavar="AGENT", help="its id, or its name if that is unique")


class AgentListAnswer(CommandAnswer):
    """The registered agents."""

    agents: list[RegisteredAgent]
    total: int


class AgentAnswer(RegisteredAgent, frozen=True):
    """Everything about an agent."""

    process: str | None
    purpose: str
    tasks: list[Brief]
    ended_at: datetime | None


class ReapedAgentAnswer(CommandAnswer):
    """A stale agent whose registration was ended."""

    id: str
    name: str
    how: str
    released: list[str]


class ReapAnswer(CommandAnswer):
    """The stale agents that were taken off the list."""

    reaped: list[ReapedAgentAnswer]
    total: int


def _show_list(answer: AgentListAnswer, screen: Screen) -> None:
    from binnacle.cli.views import ago

    if not answer.agents:
        screen.line("no agents; one registers itself with: bn orient")
        return
    rows = (
        (
            one.id,
            one.status,
            one.type,
            one.name,
            one.current_task or "",
            ago(one.active_at),
            one.client,
            f"{one.registered} {one.host} {one.pid or ''}".strip(),
        )
        for one in answer.agents
    )
    screen.table(rows, flexible=3, headings=("ID", "STATUS", "TYPE", "NAME", "TASK", "LAST SEEN", "CLIENT", "BY"))


def _show_one(answer: AgentAnswer, screen: Screen) -> None:
    from binnacle.cli.views import fields

    screen.heading(f"{answer.id}  {answer.name}")
    where = ("registered", "client", "session", "host", "process", "pid", "parent_pid")
    names = ("status", "type", "purpose", *where, "created_at", "active_at")
    fields([(name.replace("_", " "), getattr(answer, name)) for name in (*names, "ended_at")], screen)
    for task in answer.tasks:
        screen.line(f"works on {task.id}  {task.title}")


def _show_killed(answer: EndedAgent, screen: Screen) -> None:
    _show_ended(answer, screen)


def _show_reaped(answer: ReapAnswer, screen: Screen) -> None:
    for one in answer.reaped:
        _show_ended(one, screen)
    if not answer.reaped:
        screen.line("no agent is stale")


def _show_ended(one: EndedAgent | ReapedAgentAnswer, screen: Screen) -> None:
    gave_back = f"; released {', '.join(one.released)}" if one.released else ""
    screen.line(f"{one.id} {one.name}: {one.how}{gave_back}")


@AGENT.command(
    "list",
    "the registered agents and their states",
    "bn agent list",
    arg("--status", choices=("active", "idle", "stale"), help="only those"),
    view=_show_list,
    needs=READS,
)
def list_agents(context: Context, args: Namespace) -> AgentListAnswer:
    with context.reading() as tx:
        found = [describe_agent(tx, agent) for agent in agents.list_agents(tx)]
    found = [one for one in found if args.status in (None, one.status)]
    return AgentListAnswer(agents=found, total=len(found))


@AGENT.command("show", "everything about an agent", "bn agent show bna-1f3a", ID, view=_show_one, needs=READS)
def show(context: Context, args: Namespace) -> AgentAnswer:
    with context.reading() as tx:
        agent = find_agent(tx, args.id)
        process = process_of(agent)
        return AgentAnswer(
            **asdict(describe_agent(tx, agent)),
            process=process.name if process else None,
            purpose=find_purpose(tx, agent),
            tasks=[brief(task) for task in tasks.list_held_by(tx, agent.id)],
            ended_at=agent.ended_at,
        )


@AGENT.command(
    "kill",
    "end an agent: its process (TERM, then KILL), its registration and its claims",
    "bn agent kill bna-1f3a --timeout 10",
    ID,
    arg("--timeout", type=float, default=5.0, metavar="S", help="seconds between TERM and KILL (5)"),
    arg("--reason", default="killed", help="why; kept in the log"),
    view=_show_killed,
    needs=by_person("end an agent"),
)
def kill(context: Context, args: Namespace) -> EndedAgent:
    if not 0 <= args.timeout <= 600:
        raise InvalidInput(f"not a time to wait: {args.timeout}", hint="0 to 600 seconds")
    with context.writing() as tx:
        left = end_registration(tx, args.id, reason=args.reason)
    return end_processes(left, grace=args.timeout)


@AGENT.command(
    "reap",
    "end the registration of every stale agent and release its tasks; signals no process",
    "bn agent reap",
    view=_show_reaped,
    needs=changes("agent_reap"),
)
def reap_stale(context: Context, args: Namespace) -> ReapAnswer:  # noqa: ARG001
    with context.writing() as tx:
        found = reap(tx)
    reaped = [
        ReapedAgentAnswer(id=one.agent.id, name=one.agent.name, how=one.how, released=one.released) for one in found
    ]
    return ReapAnswer(reaped=reaped, total=len(reaped))
