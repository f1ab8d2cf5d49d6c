"""Who works here: the registered agents and their sessions, and how a person ends one."""

import asyncio
from datetime import datetime

from msgspec import Struct

from binnacle.app.registered_agents import (
    EndedAgent,
    RegisteredAgent,
    describe_agent,
    end_processes,
    end_registration,
    find_purpose,
)
from binnacle.lifecycle.agent_presence import process_of
from binnacle.processes.facts import folder_of
from binnacle.store import agents, sessions, tasks
from binnacle.store.transaction import Reader
from binnacle.tools.agent_identity import reap
from binnacle.web.endpoints import NoArguments, acts, reads
from binnacle.web.page_project import PageProject
from binnacle.work.session import Agent, SessionRecord
from binnacle.work.text import clean_optional_line

MAX_LISTED_AGENTS = 500
"""Agents that are listed; more than that are not alive at once."""

MAX_ENDED_AGENTS = 20
MAX_LISTED_SESSIONS = 50

END_GRACE_SECONDS = 5.0
"""Seconds that an agent's process has to end by itself."""


class HeldTask(Struct, frozen=True, kw_only=True):
    """A task that an agent works on."""

    id: str
    title: str
    since: datetime | None
    """When it was started."""


class WorkingAgent(Struct, frozen=True, kw_only=True):
    """An agent, where it is, and what it works on."""

    agent: RegisteredAgent
    process: str
    """The name of its process; empty if that cannot be seen from here."""

    folder: str
    """The folder that it works in, as far as that can be seen."""

    purpose: str
    """What it said that it is there for."""

    tasks: list[HeldTask]
    recipe: str
    """Of its planned session."""

    run: str
    """The run that drives its session."""

    ended_at: datetime | None


class AgentsPage(Struct, frozen=True, kw_only=True):
    """The agents, those that ended last, and the newest sessions."""

    agents: list[WorkingAgent]
    ended: list[WorkingAgent]
    sessions: list[SessionRecord]
    cut: bool
    """Whether there are more agents than are listed."""


class EndAgent(Struct, frozen=True, kw_only=True):
    """Ends an agent: its registration, its claims and its processes."""

    id: str
    reason: str = ""


class ReapedPageAgent(Struct, frozen=True, kw_only=True):
    """A stale agent whose registration was ended."""

    id: str
    name: str
    how: str
    released: list[str]


class ReapedAgents(Struct, frozen=True, kw_only=True):
    """The stale agents that were taken off the list."""

    reaped: list[ReapedPageAgent]


@reads("agents")
async def read_agents(project: PageProject, asked: NoArguments) -> AgentsPage:  # noqa: ARG001
    return await project.read(_load)


@acts("end_agent")
async def end_agent(project: PageProject, asked: EndAgent) -> EndedAgent:
    reason = clean_optional_line(asked.reason, what="reason", limit=500) or f"ended by {project.person.name}"
    left = await project.write(lambda tx: end_registration(tx, asked.id, reason=reason))
    return await asyncio.to_thread(end_processes, left, grace=END_GRACE_SECONDS)


@acts("reap_agents")
async def reap_agents(project: PageProject, asked: NoArguments) -> ReapedAgents:  # noqa: ARG001
    found = await project.write(reap)
    return ReapedAgents(
        reaped=[
            ReapedPageAgent(id=one.agent.id, name=one.agent.name, how=one.how, released=one.released) for one in found
        ]
    )


def _load(tx: Reader) -> AgentsPage:
    known = agents.list_agents(tx)
    planned: dict[str, SessionRecord] = {one.id: one for one in sessions.list_sessions(tx, limit=MAX_LISTED_SESSIONS)}
    newest = sorted(known, key=lambda agent: agent.active_at, reverse=True)[:MAX_LISTED_AGENTS]
    return AgentsPage(
        agents=[_describe(tx, agent, planned.get(agent.session or "")) for agent in newest],
        ended=[
            _describe(tx, agent, planned.get(agent.session or ""))
            for agent in agents.list_ended(tx, limit=MAX_ENDED_AGENTS)
        ],
        sessions=list(planned.values()),
        cut=len(known) > len(newest),
    )


def _describe(tx: Reader, agent: Agent, session: SessionRecord | None) -> WorkingAgent:
    process = process_of(agent) if agent.ended_at is None else None
    seen_folder = folder_of(process.pid) if process else ""
    held = tasks.list_held_by(tx, agent.id)
    return WorkingAgent(
        agent=describe_agent(tx, agent),
        process=process.name if process else "",
        folder=seen_folder or (session.place.partition(":")[2] if session else ""),
        purpose=find_purpose(tx, agent),
        tasks=[HeldTask(id=task.id, title=task.title, since=_find_start(tx, task.id)) for task in held],
        recipe=session.recipe if session else "",
        run=(session.run or "") if session else "",
        ended_at=agent.ended_at,
    )


def _find_start(tx: Reader, task_id: str) -> datetime | None:
    row = tx.row("select max(at) from event where entity_id = ? and action = 'started'", task_id)
    return datetime.fromisoformat(row[0]) if row and row[0] else None
