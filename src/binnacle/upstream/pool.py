"""Upstream servers that several sessions share: one connection for each configuration, as long as someone uses it."""

from collections.abc import Callable

import msgspec

from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.supervisor import OpenTransport, SupervisedServer

OnChange = Callable[[], None]
"""Called when a server's state or its offer has changed."""


class ServerPool:
    """The servers in use. A server is closed when its last user gives it back."""

    def __init__(self, open_transport: OpenTransport, *, clean: Callable[[str], str] = str) -> None:
        """`clean` removes secrets from text about a server."""
        self._open = open_transport
        self._clean = clean
        self._servers: dict[bytes, SupervisedServer] = {}

    def take(self, config: ServerConfig, on_change: OnChange) -> SupervisedServer:
        """The server of a configuration; `on_change` is called until it is given back."""
        key = _key(config)
        server = self._servers.get(key)
        if server is None:
            server = self._servers[key] = SupervisedServer(config, self._open, clean=self._clean)
        server.listeners.append(on_change)
        return server

    @property
    def servers(self) -> list[SupervisedServer]:
        """The servers in use."""
        return list(self._servers.values())

    async def give_back(self, server: SupervisedServer, on_change: OnChange) -> None:
        server.listeners.remove(on_change)
        if not server.listeners:
            self._servers.pop(_key(server.config), None)
            await server.close()


def _key(config: ServerConfig) -> bytes:
    """What two sessions must have in common to share a server: everything except its line in the file."""
    return msgspec.json.encode(msgspec.structs.replace(config, source=ConfigSource(config.source.kind)))
