"""A session while it is served: where it is, which agent it is, and how it changes. `session_lookup` finds it."""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from binnacle.config.access_tokens import IssuedSecret, issue, matches
from binnacle.errors import NotFound, Refused
from binnacle.lifecycle.process import Process
from binnacle.server.request import RequestOrigin
from binnacle.server.saved_sessions import SavedSession
from binnacle.server.served_project import ServedProject
from binnacle.tools.activity import SessionActivity
from binnacle.tools.caller import OpenedSession
from binnacle.tools.client_facts import ClientFacts
from binnacle.work.actor import Actor
from binnacle.work.session import Agent, Proof, Session, SessionTerms, is_planned

MAX_SESSIONS_PER_SCOPE = 1000
"""Sessions that callers of one scope may have open; beyond that, the oldest is dropped."""

PREFIX = "mcp-"

LOOK_SECONDS = 1.0
"""Seconds between two lookups of the agent of a session that only reads. A lookup costs as much as a read."""


class SessionRegistry(Protocol):
    """What the sessions of one server share."""

    home: ServedProject
    """The project that the server was started in."""

    @property
    def server(self) -> Process:
        """The process of this server."""

    planned: Session | None
    """The planned session that all clients of the server are in, if there is one."""

    terms: SessionTerms
    agent_id: str | None
    """The agent that the server was configured to act as."""

    async def open_project(self, path: str) -> ServedProject: ...

    def open_ids(self) -> set[str]:
        """The public ids of all sessions that are open."""

    def tokens_of(self, agent_id: str) -> set[str]:
        """Names of the tokens with which an agent is connected now."""

    def save(self, session: "LiveSession") -> None:
        """Registers a session by its handle, and saves what another server of the same client needs to continue it."""

    def changed(self) -> None:
        """Called when what a client may see has changed: its project, or that calls have to name a session."""


class Scope:
    """Callers that the transport cannot distinguish, and the sessions that they opened."""

    def __init__(self, registry: SessionRegistry, origin: RequestOrigin, client: Mapping[str, Any]) -> None:
        self._registry = registry
        self.token = origin.token
        self.client = str(client.get("name") or "")
        self.process = origin.find_process()
        self.is_shared = origin.is_single and self.process is None
        """Whether its callers may be different clients."""

        self.own = LiveSession(registry, self, registry.home)
        """The session of calls that name none."""

        self.earlier: dict[str, LiveSession] = {}
        """Sessions in which the same caller worked before; their handles stay valid."""

        self.others: dict[str, LiveSession] = {}
        """Sessions of other agents, by public id."""

    @property
    def sessions(self) -> "list[LiveSession]":
        return [self.own, *self.earlier.values(), *self.others.values()]

    def take_over(self, session: "LiveSession") -> None:
        """Makes `session` the one of calls that name none."""
        self.earlier[self.own.id] = self.own
        self.earlier.pop(session.id, None)
        while len(self.earlier) >= MAX_SESSIONS_PER_SCOPE:
            del self.earlier[next(iter(self.earlier))]
        self.own = session

    @property
    def is_ambiguous(self) -> bool:
        """Whether a call that names no session could come from several agents."""
        return bool(self.others) and not self.is_shared

    def add(self, session: "LiveSession") -> None:
        while len(self.others) >= MAX_SESSIONS_PER_SCOPE:
            del self.others[next(iter(self.others))]
        self.others[session.id] = session

    def reopen(self, saved: SavedSession, project: ServedProject) -> "LiveSession":
        """Continues a session that another server of the client has open; as `own` if that is still unused."""
        session = self.own if self.own.is_unused else LiveSession(self._registry, self, project)
        session.restore(saved, project)
        if session is not self.own:
            self.add(session)
            self._registry.changed()
        return session

    def remove(self, session: "LiveSession") -> None:
        """Forgets a session whose agent has signed off."""
        self.others.pop(session.id, None)
        if session is self.own and len(self.others) == 1:
            (self.own,) = self.others.values()
            self.others.clear()


class LiveSession:
    """A session while it is served: where it is, which agent it is, and what it has done.

    It implements `SessionControl`.
    """

    def __init__(self, registry: SessionRegistry, scope: Scope, project: ServedProject) -> None:
        self._registry = registry
        self._scope = scope
        self.project = project
        self.id = f"{PREFIX}{os.urandom(4).hex()}"
        self.activity = SessionActivity()
        self.is_open = False
        self.agent: Agent | None = None
        """The agent that it acts as; None until it is identified."""

        self._is_oriented = False
        self._linked_id: str | None = None
        """The agent of a restored session, which is not linked to this server yet."""

        self.cwd = project.repo
        """The folder in which its commands run."""

        self._issued: list[IssuedSecret] = []
        """Handles that were issued for it; all of them are valid."""

        self._looked_at = float("-inf")
        self._lock = asyncio.Lock()
        self.session = self._describe()

    @property
    def is_identified(self) -> bool:
        return self.agent is not None or self._registry.planned is not None

    @property
    def is_unused(self) -> bool:
        """Whether it is neither identified nor opened yet."""
        return self.agent is None and not self.is_open

    @property
    def token(self) -> str:
        """Name of its callers' bearer token."""
        return self._scope.token

    def has_handle(self, text: str) -> bool:
        return any(matches(text, issued.digest) for issued in self._issued)

    async def identify(self, *, registers: bool = True) -> Session:
        if self.is_identified or not self.project.is_known:
            return self.session
        if not registers and not self._is_look_due():
            return self.session
        async with self._lock:
            if self.agent is None and (self.is_open or not self._scope.is_shared):
                if registers or self._is_named:
                    self._become(await self._find_agent())
                elif (found := await self.project.resume_agent(self.facts(), open_here=self._other_ids())) is not None:
                    self._become(found)
        return self.session

    def _is_look_due(self) -> bool:
        """Whether to look up the agent of a session that only reads: periodically, because its shell may register."""
        now = time.monotonic()
        is_due = now - self._looked_at >= LOOK_SECONDS
        self._looked_at = now if is_due else self._looked_at
        return is_due

    @property
    def _is_named(self) -> bool:
        """Whether its agent is given, so that identifying it registers no new one."""
        return self._registry.agent_id is not None or self._linked_id is not None

    def _other_ids(self) -> set[str]:
        """The other open sessions: their agents are taken."""
        return self._registry.open_ids() - {self.id}

    async def move(self, path: str, agent_id: str | None, *, is_named: bool) -> OpenedSession:
        project = await self._registry.open_project(path)
        if self._registry.planned is not None and project.repo != self.project.repo:
            raise Refused(
                f"this session was planned for {self.project.repo}, and works only there",
                hint="work on the task you were given; another project needs its own session",
            )
        if agent_id is not None:
            self._check_free(agent_id)
        cwd = os.path.realpath(path)
        target = self._target(agent_id)
        is_same = target is self
        if is_same and not is_named:
            target = self._session_in(project, cwd)
        agent = await project.link_agent(agent_id, target.facts()) if agent_id else None
        opened = await target.enter(project, cwd, agent)
        self._join(target, is_same=is_same)
        return opened

    def _session_in(self, project: ServedProject, cwd: str) -> "LiveSession":
        """The session of the same caller in another folder. The handles of this one stay valid for this one."""
        scope = self._scope
        if not self.is_open or self._registry.planned is not None or cwd == self.cwd or self is not scope.own:
            return self
        mine = [self, *scope.earlier.values()]
        session = next((one for one in mine if one.cwd == cwd), None)
        if session is None:
            session = LiveSession(self._registry, scope, project)
            session._is_oriented = self._is_oriented
            known = next((one for one in mine if one.project is project and one.agent is not None), None)
            session.agent = known.agent if known else None
        return session

    def _check_free(self, agent_id: str) -> None:
        """Refuses the id of a planned session or of an agent with another token: ids are public and prove nothing."""
        planned = self._registry.planned
        if is_planned(agent_id) and (planned is None or planned.id != agent_id):
            raise Refused(
                f"{agent_id} is a planned session, which only its secret opens",
                hint="leave out agent_id to be a new agent",
            )
        if any(token != self.token for token in self._registry.tokens_of(agent_id)):
            raise Refused(
                f"agent {agent_id} is connected with another token",
                hint="leave out agent_id to be a new agent",
            )

    def _target(self, agent_id: str | None) -> "LiveSession":
        """The session that `binnacle-set_agent` means: this one, or that of the named agent."""
        if self._scope.is_shared and self is self._scope.own:
            return self._new_session()
        if agent_id is None or self.agent is None or not self.is_open or self.agent.id == agent_id:
            return self
        known = (one for one in self._scope.sessions if one.agent is not None and one.agent.id == agent_id)
        return next(known, None) or self._new_session()

    def _new_session(self) -> "LiveSession":
        """A new session for a caller that has a handle from now on. It joins the scope once it is open."""
        return LiveSession(self._registry, self._scope, self.project)

    def _join(self, opened: "LiveSession", *, is_same: bool = False) -> None:
        """Adds an opened session to the scope: for the same caller, or for another agent.

        A session that failed to open was never added.
        """
        scope = self._scope
        if is_same and opened is not self:
            scope.take_over(opened)
        elif opened not in scope.sessions:
            scope.add(opened)
        else:
            return
        if not is_same or opened.project is not self.project:
            self._registry.changed()

    async def enter(self, project: ServedProject, cwd: str, agent: Agent | None) -> OpenedSession:
        """Works in this project from now on, as `agent` if given."""
        async with self._lock:  # another call may be identifying it in the earlier project
            if project is not self.project:
                self.agent = None
                self._registry.changed()
            elif agent is None:
                await self._forget_ended()
            self.project, self.cwd, self.is_open = project, cwd, True
            self.agent = agent or self.agent
            self.session = self._describe()
        await self.identify()
        return self._issue_handle()

    async def _forget_ended(self) -> None:
        """Becomes unidentified if its agent has ended."""
        if self.agent is not None and not await self.project.is_active(self.agent.id):
            self.agent, self._is_oriented = None, False

    async def register(self, name: str | None) -> OpenedSession:
        target = self
        await self._forget_ended()
        is_second = self._is_oriented and self.agent is not None and name not in (None, self.agent.name)
        if is_second or (self._scope.is_shared and self is self._scope.own):
            target = self._new_session()
        opened = await target.orient(name, is_new=target is not self)
        self._join(target)
        return opened

    async def orient(self, name: str | None, *, is_new: bool) -> OpenedSession:
        """Becomes a registered agent; a new one if `is_new`."""
        if self._registry.planned is None and (self.agent is None or self.agent.registered == "mcp"):
            async with self._lock:
                agent = await self._find_agent(name=name, is_new=is_new)
                self.is_open = True
                self._become(agent)
        self.is_open = self._is_oriented = True
        return self._issue_handle()

    async def close(self) -> None:
        if self._scope.others:
            self._scope.remove(self)
            self._registry.changed()
        self._is_oriented = False

    async def end(self, reason: str) -> None:
        """Ends its agent if only this connection, which is closed now, identifies the agent."""
        if self.agent is not None and self.agent.pid is None and self._registry.planned is None:
            await self.project.end_agent(self.agent.id, reason=reason)

    def restore(self, saved: SavedSession, project: ServedProject) -> None:
        """Continues where another server of the same client left off."""
        self.id, self.project, self.cwd = saved.id, project, saved.cwd
        self.is_open, self._is_oriented = True, saved.is_oriented
        self._linked_id = saved.agent_id
        self._issued.append(IssuedSecret("", saved.digest))
        self.session = self._describe()

    async def _find_agent(self, *, name: str | None = None, is_new: bool = False) -> Agent:
        if (agent_id := self._registry.agent_id) is not None:
            return await self.project.link_agent(agent_id, self.facts())
        if self._linked_id is not None and not is_new:
            linked, self._linked_id = self._linked_id, None
            with suppress(NotFound):  # it has ended since
                return await self.project.link_agent(linked, self.facts())
        return await self.project.find_agent(self.facts(), name=name, open_here=self._other_ids(), is_new=is_new)

    def facts(self) -> ClientFacts:
        """What is known about the client, for the registration of its agent."""
        scope = self._scope
        client = scope.client or scope.token
        return ClientFacts(
            client=client, session=self.id, token=scope.token, server=self._registry.server, process=scope.process
        )

    def _become(self, agent: Agent) -> None:
        self.agent = agent
        self.session = self._describe()

    def _issue_handle(self) -> OpenedSession:
        if not self._issued or not self._issued[-1].text:
            self._issued.append(issue(self.id))
        self._registry.save(self)
        agent_id = self.agent.id if self.agent else None
        return OpenedSession(self.session, self._issued[-1].text, agent_id)

    def saved(self) -> SavedSession | None:
        """What another server of the same client needs to continue; None if the client's process is not known."""
        process = self._scope.process
        if process is None or self._registry.planned is not None:
            return None
        return SavedSession(
            id=self.id,
            digest=self._issued[-1].digest,
            token=self.token,
            pid=process.pid,
            started=process.started,
            server_pid=self._registry.server.pid,
            server_started=self._registry.server.started,
            home=self._registry.home.repo,
            cwd=self.cwd,
            agent_id=self.agent.id if self.agent else None,
            is_oriented=self._is_oriented,
        )

    def _describe(self) -> Session:
        if (planned := self._registry.planned) is not None:
            return msgspec.structs.replace(planned, cwd=self.cwd) if self.is_open else planned
        is_shared = self._scope.is_shared and not self.is_open
        name = self.agent.id if self.agent else self._scope.token or self.id
        return Session(
            id=self.id,
            actor=Actor(name, "agent", is_shared=is_shared),
            repo=self.project.repo if self.project.is_known else None,
            cwd=self.cwd,
            terms=self._registry.terms,
            proof=self._proof(),
        )

    def _proof(self) -> Proof:
        if self._registry.agent_id is not None:
            return "variable"
        if self._scope.is_shared:
            return "handle" if self.is_open else "nothing"
        return "process" if self._scope.process is not None else "connection"
