"""Changes to the resources of one server: subscribed to for every session that follows them, and announced.

Sessions that share a server follow different resources. We subscribe to all of them together, again after every new
connection. Many changes in a short time are announced once.
"""

import asyncio
import contextlib
from collections.abc import Callable

from binnacle.errors import UpstreamError
from binnacle.upstream.mcp_client import McpClient
from binnacle.upstream.server_bounds import MAX_UPDATES, MAX_URI_CHARACTERS

SUBSCRIBE_SECONDS = 10.0
"""Seconds until a server must have confirmed a subscription to resources."""

GATHER_SECONDS = 0.1
"""Seconds in which changes to resources are collected before they are announced."""


class ResourceUpdates:
    """Who follows which resources of a server, and what changed."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[str], None]] = []
        """Called with the URI of a resource that has changed."""

        self._followed: dict[object, frozenset[str]] = {}
        self._subscribing = asyncio.Lock()
        self._pending: dict[str, None] = {}
        """Changed resources that were not announced yet, in the server's order."""

        self._announcing: asyncio.TimerHandle | None = None

    def set_followed(self, who: object, uris: frozenset[str]) -> bool:
        """Notes which resources `who` follows from now on. Returns whether that changed."""
        if uris == self._followed.get(who, frozenset()):
            return False
        self._followed[who] = uris
        return True

    def unfollow(self, who: object) -> None:
        """Forgets what `who` followed; the next subscription leaves it out."""
        self._followed.pop(who, None)

    async def subscribe(self, client: McpClient) -> None:
        """Subscribes to everything that any session follows."""
        async with self._subscribing:
            # A server that does not answer counts as one without notifications.
            with contextlib.suppress(TimeoutError, UpstreamError):
                async with asyncio.timeout(SUBSCRIBE_SECONDS):
                    await client.follow(frozenset().union(*self._followed.values()))

    def note(self, uri: str) -> None:
        """Takes the server's notification that a resource has changed."""
        if len(uri) > MAX_URI_CHARACTERS or len(self._pending) >= MAX_UPDATES:
            return
        self._pending[uri] = None
        if self._announcing is None:
            self._announcing = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._announce)

    def _announce(self) -> None:
        uris, self._pending, self._announcing = self._pending, {}, None
        for uri in uris:
            for listener in list(self.listeners):
                listener(uri)

    def close(self) -> None:
        """Stops announcing."""
        if self._announcing is not None:
            self._announcing.cancel()
