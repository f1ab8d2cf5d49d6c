"""Connections to upstream servers, shared by all sessions of a process. Heavy: loaded only if there are servers."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from binnacle.config.rolling_file import RollingFile
from binnacle.processes.keeper import Keeper
from binnacle.processes.output_log import OutputLog
from binnacle.project.project import Project
from binnacle.upstream.configuration.config_paths import log_file, upstream_folder
from binnacle.upstream.configuration.server_config import LoadedServers, ServerConfig
from binnacle.upstream.configuration.server_loader import load_servers
from binnacle.upstream.configuration.server_trust import is_allowed
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.pool import ServerPool
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.transports.stdio import StdioTransport
from binnacle.upstream.transports.transport import Receive, Transport

if TYPE_CHECKING:
    from binnacle.upstream.auth.authorizer import Authorizer

MAX_LOG_BYTES = 1 << 20
"""Size of the log of a server's standard error, and of the older log before it."""

Brought = Callable[[], Mapping[str, Any] | None]
"""Returns the current servers of a session's discipline."""


class UpstreamConnections:
    """The connections of all sessions to upstream servers. Closing it ends every connection and every process."""

    def __init__(self, project: Project, *, flags: Sequence[str] = ()) -> None:
        """`flags` are the servers named on the command line."""
        self._project = project
        self._flags = flags
        self._keeper = Keeper()
        self._redactor = Redactor()
        self._pool = ServerPool(self._open, clean=self._redactor.clean)
        self._http: Any = None
        self._authorizers: dict[str, tuple[ServerConfig, Authorizer]] = {}
        self._logs: dict[str, tuple[OutputLog, RollingFile]] = {}

    def gateway(
        self, brought: Brought, on_change: Callable[[], None], *, only: Collection[str] | None = None
    ) -> Gateway:
        """The gateway of a session to the servers of the project and of its discipline, or `only` to some of them."""
        repo = self._project.repo
        return Gateway(
            lambda: self._load(brought(), only),
            self._pool,
            folder=upstream_folder(self._project.data_dir),
            is_allowed=lambda config: is_allowed(config, repo),
            on_change=on_change,
            clean=self._redactor.clean,
        )

    def _load(self, brought: Mapping[str, Any] | None, only: Collection[str] | None) -> LoadedServers:
        found = load_servers(self._project.repo, flags=self._flags, discipline=brought)
        for config in found.servers.values():
            self._redactor.learn(config)
        for _, authorizer in self._authorizers.values():
            authorizer.reconsider()
        if only is None:
            return found
        return found._replace(servers={name: one for name, one in found.servers.items() if name in only})

    def _open(self, config: ServerConfig, receive: Receive) -> Transport:
        if config.transport == "stdio":
            return StdioTransport(config, receive, keeper=self._keeper, log=self._log(config.name))
        from binnacle.upstream.transports.url_transports import make_url_transport

        who = self._authorizer(config)
        return make_url_transport(config, receive, session=self._session(), credentials=who)

    def _log(self, name: str) -> OutputLog:
        if name not in self._logs:
            file = RollingFile(log_file(self._project.data_dir, name), MAX_LOG_BYTES)
            self._logs[name] = (OutputLog(file, clean=self._redactor.clean), file)
        return self._logs[name][0]

    def _authorizer(self, config: ServerConfig) -> "Authorizer":
        from binnacle.upstream.auth.authorizer_factory import make_authorizer
        from binnacle.upstream.auth.secret_store import open_secrets

        known = self._authorizers.get(config.name)
        if known is not None and known[0] == config:
            return known[1]
        made = make_authorizer(config, secrets=open_secrets(), http=self._session(), redactor=self._redactor)
        self._authorizers[config.name] = (config, made)
        return made

    def _session(self) -> Any:
        if self._http is None:
            from binnacle.upstream.transports.http_client import new_session

            self._http = new_session()
        return self._http

    @property
    def servers(self) -> list[SupervisedServer]:
        """The servers that sessions use now."""
        return self._pool.servers

    async def aclose(self) -> None:
        await asyncio.gather(*(one.aclose() for _, one in self._authorizers.values()))
        if self._http is not None:
            await self._http.close()
        await self._keeper.aclose()
        for _, file in self._logs.values():
            file.close()


def describe_servers(gateway: Gateway) -> list[dict[str, Any]]:
    """The state of a session's servers: since when, why, and when a failed one is tried again."""
    return [
        {
            "name": name,
            "state": server.status.state,
            "since": _format_time(server.status.since),
            **({"reason": server.status.reason} if server.status.reason else {}),
            **({"next_retry": _format_time(server.status.next_retry)} if server.status.next_retry else {}),
            "tools": len(server.tools),
            "pin": server.config.pin,
            "notes": gateway.notes.get(name, []),
        }
        for name, server in gateway.servers.items()
    ]


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
