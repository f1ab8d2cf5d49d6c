"""Upstream servers that several sessions share: one connection for each configuration, as long as someone uses it."""

from collections.abc import Callable

import msgspec

from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.supervisor import OpenTransport, SupervisedServer

Heard = Callable[[], None]
"""Told that a server's state or what it offers has changed."""


class ServerPool:
    """The servers in use. A server that its last user gives back is closed."""

    def __init__(self, open_transport: OpenTransport, *, clean: Callable[[str], str] = str) -> None:
        """`clean` takes secrets out of what is said about a server."""
        self._open = open_transport
        self._clean = clean
        self._servers: dict[bytes, SupervisedServer] = {}

    def take(self, config: ServerConfig, heard: Heard) -> SupervisedServer:
        """The server of a configuration; `heard` is called until it is given back."""
        key = _key(config)
        server = self._servers.get(key)
        if server is None:
            server = self._servers[key] = SupervisedServer(config, self._open, clean=self._clean)
        server.heard.append(heard)
        return server

    async def give_back(self, server: SupervisedServer, heard: Heard) -> None:
        server.heard.remove(heard)
        if not server.heard:
            self._servers.pop(_key(server.config), None)
            await server.close()


def _key(config: ServerConfig) -> bytes:
    """What two sessions must agree on to share a server: all but the line that it stands in."""
    return msgspec.json.encode(msgspec.structs.replace(config, source=ConfigSource(config.source.kind)))
