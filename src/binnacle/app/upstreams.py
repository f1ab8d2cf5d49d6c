"""Connections to upstream servers, shared by every session that a process serves. Heavy: made when there are any."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from binnacle.app import Project
from binnacle.processes.keeper import Keeper
from binnacle.upstream.approvals import is_approved
from binnacle.upstream.config import ServerConfig, load_servers
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.link import Link, Receive
from binnacle.upstream.pool import Pool
from binnacle.upstream.stdio import Log, StdioLink

if TYPE_CHECKING:
    from binnacle.upstream.auth.authorizer import Authorizer


class Upstreams:
    """What sessions need to reach upstream servers. Closing it ends every connection and every process."""

    def __init__(self, project: Project, *, flags: Sequence[str] = ()) -> None:
        """`flags` are the servers named on the command line."""
        self._project = project
        self._flags = flags
        self._keeper = Keeper()
        self._pool = Pool(self._open)
        self._http: Any = None
        self.logs: dict[str, Log] = {}
        """What servers that are processes wrote to their standard error, by server."""

    def gateway(self, discipline: Mapping[str, Any] | None, on_change: Callable[[], None]) -> Gateway:
        """The servers of a session: the project's, and those of its discipline."""
        repo = self._project.repo
        return Gateway(
            lambda: load_servers(repo, flags=self._flags, discipline=discipline),
            self._pool,
            folder=os.path.join(self._project.data_dir, "upstream"),
            is_approved=lambda config: is_approved(config, repo),
            on_change=on_change,
        )

    def _open(self, config: ServerConfig, receive: Receive) -> Link:
        if config.transport == "stdio":
            log = self.logs.setdefault(config.name, Log())
            return StdioLink(config, receive, keeper=self._keeper, log=log)
        from binnacle.upstream.http import HttpLink
        from binnacle.upstream.sse import SseLink
        from binnacle.upstream.websocket import WebSocketLink

        links: dict[str, Callable[..., Link]] = {"http": HttpLink, "sse": SseLink, "websocket": WebSocketLink}
        who = self._authorizer(config)
        make = links[config.transport]
        return make(config, receive, session=self._session(), headers=who.headers, challenged=who.challenged)

    def _authorizer(self, config: ServerConfig) -> "Authorizer":
        from binnacle.upstream.auth.authorizer import authorizer
        from binnacle.upstream.auth.secrets import open_secrets

        return authorizer(config, secrets=open_secrets(), http=self._session())

    def _session(self) -> Any:
        if self._http is None:
            from binnacle.upstream.web import new_session

            self._http = new_session()
        return self._http

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.close()
        await self._keeper.aclose()
