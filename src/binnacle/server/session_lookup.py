"""Which session a call belongs to: the one place where the MCP server finds out who is calling, and where.

A *scope* is a set of callers that the transport cannot tell apart: one connection on stdio, one protocol session on
HTTP, and for HTTP without sessions all requests of one process that came with one token. Every scope has a session of
its own. A caller that names itself (`binnacle-set_agent` with an agent id, `binnacle-orient` with another name) gets a
session beside it, and from then on the callers of that scope are told apart by their handle.

    transport ──► scope ──► session ──► project, agent, plan
                    ▲            ▲
         connection, token,    handle, given by set_agent and orient
         process

States of a session. It begins *unidentified*: nobody has asked which agent it is, and reading needs none. The first
call that touches the store *identifies* it: the agent that the same process was before is taken up again, or a new one
is registered. A scope whose callers cannot be told apart at all (HTTP without sessions, from a process that cannot be
seen) stays unidentified: its actor is shared, and whoever is shared may not hold a task or run commands.

A session is moved as a whole: its project, the folder its commands run in, and its agent change together. Everything
here runs in the event loop of one server; the only waits are for a project's store, and a lock of the session's own
keeps two calls from identifying it twice. A session and its scope live as long as the connection, or, on HTTP without
sessions, until `MAX_SCOPES` others have been heard of since.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from weakref import WeakValueDictionary

from binnacle.config.access_tokens import id_of, matches
from binnacle.errors import InvalidInput, NoProject, NotReady
from binnacle.lifecycle.process import Process, this_process
from binnacle.server.live_session import LiveSession, Scope, ServedProject
from binnacle.server.request import McpRequest, Peer
from binnacle.server.saved_sessions import SavedSessions
from binnacle.tools.caller import Caller
from binnacle.work.session import BARE, Session, SessionTerms

MAX_SCOPES = 1000
"""Scopes of HTTP without sessions that are kept; the one that was silent longest makes room."""

OpenProject = Callable[[str], Awaitable[ServedProject]]
"""Opens the project at a path. Raises `NoProject` if there is none."""

Key = tuple[str, int, str]
"""A token, and a process by its id and start."""


class Sessions:
    """The sessions of one server."""

    def __init__(
        self,
        home: ServedProject,
        open_project: OpenProject,
        *,
        planned: Session | None = None,
        terms: SessionTerms = BARE,
        agent_id: str | None = None,
        saved: SavedSessions | None = None,
    ) -> None:
        """`home` is where the server was started. All its clients are in `planned`, where a session was planned for it.

        `agent_id` is the agent that it was told to act as; `saved` keeps sessions for the next server of a client.
        """
        self.home = home
        self.planned = planned
        self.terms = terms
        self.agent_id = agent_id
        self._open_project = open_project
        self._saved = saved
        self._scopes: dict[Key, Scope] = {}
        """Scopes of requests without a session, the one heard of last at the end."""

        self._shared: dict[str, Scope] = {}
        """For each token, those whose callers nothing tells apart."""

        self._opened: WeakValueDictionary[str, LiveSession] = WeakValueDictionary()
        """Sessions that have a handle, by public id, for as long as their scope is there."""

        self._connected: dict[Peer, Scope] = {}
        self._connecting = asyncio.Lock()
        self.on_change: Callable[[], None] = _nobody_cares

    @cached_property
    def server(self) -> Process:
        return this_process()

    async def open_project(self, path: str) -> ServedProject:
        return await self._open_project(path)

    def changed(self) -> None:
        self.on_change()

    def open_ids(self) -> set[str]:
        return {session.id for scope in self._all() for session in scope.sessions}

    def tokens_of(self, agent_id: str) -> set[str]:
        sessions = (session for scope in self._all() for session in scope.sessions)
        return {session.token for session in sessions if session.agent is not None and session.agent.id == agent_id}

    def _all(self) -> list[Scope]:
        return [*self._connected.values(), *self._scopes.values(), *self._shared.values()]

    async def find(self, call: McpRequest, handle: str | None = None) -> tuple[LiveSession, Caller]:
        """The session of a call and the caller behind it. `handle` is what the caller says of itself.

        Raises:
            NotReady: the handle is of no session of this client.
        """
        scope = await self._scope(call)
        session = scope.own if handle is None else await self._named(scope, handle)
        return session, Caller(
            session=session.session,
            activity=session.activity,
            progress=call.progress,
            client=call,
            control=session,
            is_named=handle is not None,
            is_ambiguous=handle is None and scope.is_ambiguous,
        )

    def look(self, call: McpRequest) -> ServedProject:
        """Where a client is, for what it may list and read."""
        scope = self._connected.get(call.peer)
        if scope is None and call.peer.origin.is_single and self._scopes:
            scope = self._single(call)
        return scope.own.project if scope else self.home

    def needs_handle(self, call: McpRequest) -> bool:
        """Whether tools have to say that they take a handle: their caller may have to name its session."""
        scope = self._connected.get(call.peer)
        return self.planned is None and (call.peer.origin.is_single or (scope is not None and scope.is_ambiguous))

    async def _named(self, scope: Scope, handle: str) -> LiveSession:
        async with self._connecting:
            session = self._opened.get(id_of(handle)) or await self._reopen(scope, handle)
        if session is not None and session.token == scope.token and session.has_handle(handle):
            return session
        raise NotReady(
            f"no session {handle[:40]!r}", hint="call binnacle-set_agent again, and pass the `session` it returns"
        )

    async def _scope(self, call: McpRequest) -> Scope:
        peer = call.peer
        if peer.origin.is_single:
            return self._single(call)
        if peer not in self._connected:
            async with self._connecting:
                if peer not in self._connected:
                    scope = Scope(self, peer.origin, call.client)
                    await self._restore(scope)
                    self._connected[peer] = scope
                    peer.has_called = True
        return self._connected[peer]

    def _single(self, call: McpRequest) -> Scope:
        """The scope of a request that belongs to no connection: that of its process, or of its token."""
        origin = call.peer.origin
        process = origin.find_process()
        if process is None:
            if origin.token not in self._shared:
                self._shared[origin.token] = Scope(self, origin, {})
            return self._shared[origin.token]
        key = (origin.token, process.pid, process.started)
        scope = self._scopes.pop(key, None) or Scope(self, origin, call.client)
        while len(self._scopes) >= MAX_SCOPES:
            del self._scopes[next(iter(self._scopes))]
        self._scopes[key] = scope
        return scope

    async def _restore(self, scope: Scope) -> None:
        """Takes up the session that another server of the same client left, as when each call has its own server."""
        if self._saved is None or self.planned is not None or scope.process is None:
            return
        found = self._saved.take(scope.process, self.server, home=self.home.repo, token=scope.token)
        if found is not None:
            with suppress(NoProject, InvalidInput):  # the folder is gone: it begins where the server was started
                scope.own.restore(found, await self.open_project(found.cwd))
                self._opened[found.id] = scope.own

    async def _reopen(self, scope: Scope, handle: str) -> LiveSession | None:
        """The session that another server of the same client has open, as when each of several calls has a server."""
        if self._saved is None or self.planned is not None or scope.process is None:
            return None
        found = self._saved.find(scope.process, id_of(handle), token=scope.token)
        if found is None or not matches(handle, found.digest):
            return None
        session = scope.reopen(found, await self.open_project(found.cwd))
        self._opened[found.id] = session
        return session

    def save(self, session: LiveSession) -> None:
        self._opened[session.id] = session
        kept = session.saved() if self._saved is not None else None
        if kept is not None and self._saved is not None:
            self._saved.keep(kept)

    async def end(self, peer: Peer, *, reason: str) -> None:
        """The connection is closed: what is known by it alone ends."""
        scope = self._connected.pop(peer, None)
        for session in scope.sessions if scope is not None else ():
            await session.end(reason)

    async def aclose(self) -> None:
        """Ends every session that is known by its connection alone."""
        for scope in self._all():
            for session in scope.sessions:
                await session.end("the server was stopped")


def _nobody_cares() -> None:
    """Nobody wants to know."""
