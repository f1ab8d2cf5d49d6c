"""Upstream servers that several sessions share: one connection for each configuration, as long as someone uses it."""

from collections.abc import Callable

import msgspec

from binnacle.upstream.config import ServerConfig
from binnacle.upstream.server import Open, Upstream

Heard = Callable[[], None]
"""Told that a server's state or what it offers has changed."""


class Pool:
    """The servers in use. A server that its last user gives back is closed."""

    def __init__(self, open_link: Open) -> None:
        self._open = open_link
        self._servers: dict[bytes, Upstream] = {}

    def take(self, config: ServerConfig, heard: Heard) -> Upstream:
        """The server of a configuration; `heard` is called until it is given back."""
        key = msgspec.json.encode(config)
        server = self._servers.get(key)
        if server is None:
            server = self._servers[key] = Upstream(config, self._open)
        server.heard.append(heard)
        return server

    async def give_back(self, server: Upstream, heard: Heard) -> None:
        server.heard.remove(heard)
        if not server.heard:
            self._servers.pop(msgspec.json.encode(server.config), None)
            await server.close()
