"""Finds the session of a call: the only place where the MCP server decides who is calling, and where.

A *scope* is a set of callers that the transport cannot distinguish: one connection on stdio, one protocol session on
HTTP, and for HTTP without sessions all requests of one process with one token. Every scope has its own session. A
caller that names itself (`binnacle-set_agent` with an agent id, `binnacle-orient` with another name) gets another
session in the scope, and from then on handles distinguish the callers of that scope.

    transport ──► scope ──► session ──► project, agent, plan
                    ▲            ▲
         connection, token,    handle, given by set_agent and orient
         process

States of a session. It begins *unidentified*: its agent is not known, and reading needs none. The first call that uses
the store *identifies* it: the agent that the same process was before resumes, or a new one is registered. A scope whose
callers cannot be distinguished at all (HTTP without sessions, from a process that cannot be found) stays unidentified:
its actor is shared, and a shared actor may not hold a task or run commands.

When a session moves, its project, the folder its commands run in, and its agent change together. Everything here runs
in the event loop of one server; the only waits are for a project's store, and each session's own lock keeps two calls
from identifying it twice. A session and its scope live as long as the connection, or, on HTTP without sessions, until
`MAX_SCOPES` other scopes have been used since.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from weakref import WeakValueDictionary

from binnacle.config.access_tokens import id_of, matches
from binnacle.errors import InvalidInput, NoProject, NotReady
from binnacle.lifecycle.process import Process, this_process
from binnacle.server.live_session import LiveSession, Scope
from binnacle.server.request import McpRequest, Peer
from binnacle.server.saved_sessions import SavedSessions
from binnacle.server.served_project import ServedProject
from binnacle.tools.caller import Caller
from binnacle.work.session import BARE, Session, SessionTerms

MAX_SCOPES = 1000
"""Scopes of HTTP without sessions that are kept; beyond that, the one that was silent longest is dropped."""

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
        """`home` is the project in which the server was started. If `planned` is given, all clients are in it.

        `agent_id` is the agent that the server acts as; `saved` keeps sessions for the next server of a client.
        """
        self.home = home
        self.planned = planned
        self.terms = terms
        self.agent_id = agent_id
        self._open_project = open_project
        self._saved = saved
        self._scopes: dict[Key, Scope] = {}
        """Scopes of requests without a session, the most recently used last."""

        self._shared: dict[str, Scope] = {}
        """For each token, the scope of callers that cannot be distinguished."""

        self._opened: WeakValueDictionary[str, LiveSession] = WeakValueDictionary()
        """Sessions that have a handle, by public id, as long as their scope exists."""

        self._connected: dict[Peer, Scope] = {}
        self._connecting = asyncio.Lock()
        self.on_change: Callable[[], None] = _ignore_change

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
        """The session of a call, and its caller. `handle` is the one that the call passes.

        Raises:
            NotReady: no session of this client has that handle.
        """
        scope = self._connected.get(call.peer) or await self._find_scope(call)
        session = scope.own if handle is None else await self._find_named(scope, handle)
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
        """The project that a client is in, for what it may list and read."""
        scope = self._connected.get(call.peer)
        if scope is None and call.peer.origin.is_single and self._scopes:
            scope = self._find_single(call)
        return scope.own.project if scope else self.home

    def needs_handle(self, call: McpRequest) -> bool:
        """Whether the tools must list a `session` parameter, because the caller may have to name its session."""
        scope = self._connected.get(call.peer)
        return self.planned is None and (call.peer.origin.is_single or (scope is not None and scope.is_ambiguous))

    async def _find_named(self, scope: Scope, handle: str) -> LiveSession:
        async with self._connecting:
            session = self._opened.get(id_of(handle)) or await self._reopen(scope, handle)
        if session is not None and session.token == scope.token and session.has_handle(handle):
            return session
        raise NotReady(
            f"no session {handle[:40]!r}", hint="call binnacle-set_agent again, and pass the `session` it returns"
        )

    async def _find_scope(self, call: McpRequest) -> Scope:
        peer = call.peer
        if peer.origin.is_single:
            return self._find_single(call)
        if peer not in self._connected:
            async with self._connecting:
                if peer not in self._connected:
                    scope = Scope(self, peer.origin, call.client)
                    await self._restore(scope)
                    self._connected[peer] = scope
                    peer.has_called = True
        return self._connected[peer]

    def _find_single(self, call: McpRequest) -> Scope:
        """The scope of a request that belongs to no connection: that of its process or of its token."""
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
        """Resumes the session that an earlier server of the same client left, as when each call starts a server."""
        if self._saved is None or self.planned is not None or scope.process is None:
            return
        found = self._saved.take(scope.process, self.server, home=self.home.repo, token=scope.token)
        if found is not None:
            with suppress(NoProject, InvalidInput):  # its folder is gone: it starts in the server's own project
                scope.own.restore(found, await self.open_project(found.cwd))
                self._opened[found.id] = scope.own

    async def _reopen(self, scope: Scope, handle: str) -> LiveSession | None:
        """The session that another server of the same client has open, as when simultaneous calls start servers."""
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
        """Ends what is known only by a connection that is closed."""
        scope = self._connected.pop(peer, None)
        for session in scope.sessions if scope is not None else ():
            await session.end(reason)

    async def aclose(self) -> None:
        """Ends every session that is known only by its connection."""
        for scope in self._all():
            for session in scope.sessions:
                await session.end("the server was stopped")


def _ignore_change() -> None:
    """The default of `on_change`."""
