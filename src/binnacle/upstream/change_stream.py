"""How a server announces changes of its lists and resources.

In the handshake era it notifies over the connection, and resources are subscribed to one by one. In the stateless era
a request stays open (`subscriptions/listen`), and names everything that is wanted; so another choice of resources is
another request, and the old one is ended only when the new one is acknowledged. A stream that is lost may have lost a
change with it: when it is open again, everything it was about counts as changed.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Raw

from binnacle.errors import UpstreamError
from binnacle.upstream.transports.transport import Transport
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import RpcError
from binnacle.wire.mcp import Era

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 60.0
"""Until a lost stream is opened again, at first and at most."""

ACKNOWLEDGED_WITHIN_SECONDS = 5.0
"""Until a server must have confirmed a subscription."""

FIRST_ACKNOWLEDGED_SECONDS = 0.5
"""How long a new connection waits for the confirmation."""

RESOURCE_UPDATED = "notifications/resources/updated"

OnChange = Callable[[str, Raw], None]
"""Called with the method and the parameters of a notification."""


class RequestingClient(Protocol):
    """What the stream needs of its connection."""

    era: Era
    capabilities: dict[str, Any]
    link: Transport

    async def ask(self, method: str, params: Mapping[str, Any]) -> Raw:
        """The result of a request."""


class ChangeStream:
    """The changes that one connection tells of."""

    def __init__(self, client: RequestingClient, on_change: OnChange) -> None:
        self._client = client
        self._on_change = on_change
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged = asyncio.Event()
        self._followed: frozenset[str] = frozenset()

    async def open(self) -> None:
        """Opens the stream. Waits a moment for it, so that no change is missed from the first list on."""
        self._listening = asyncio.get_running_loop().create_task(self._listen(()))
        acknowledged = asyncio.ensure_future(self._acknowledged.wait())
        try:
            both: set[asyncio.Future[Any]] = {acknowledged, self._listening}
            await asyncio.wait(both, timeout=FIRST_ACKNOWLEDGED_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            acknowledged.cancel()

    def acknowledge(self) -> None:
        """The server has confirmed the subscription."""
        self._acknowledged.set()

    async def follow(self, uris: frozenset[str]) -> None:
        """Subscribes to exactly these resources, if the server supports that."""
        if uris == self._followed or not self._can("resources", "subscribe"):
            return
        if self._client.era == "stateless":
            await self._replace(uris)
        else:
            changes = {"resources/subscribe": uris - self._followed, "resources/unsubscribe": self._followed - uris}
            for method, some in changes.items():
                for uri in sorted(some):
                    with contextlib.suppress(RpcError):  # it announces no changes of this one
                        await self._client.ask(method, {"uri": uri})
        self._followed = uris

    def _can(self, what: str, how: str) -> bool:
        capability = self._client.capabilities.get(what)
        return isinstance(capability, dict) and bool(capability.get(how))

    async def _replace(self, uris: frozenset[str]) -> None:
        before, self._acknowledged = self._listening, asyncio.Event()
        self._listening = asyncio.get_running_loop().create_task(self._listen(sorted(uris)))
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ACKNOWLEDGED_WITHIN_SECONDS):
                    await self._acknowledged.wait()
        finally:
            if before is not None:
                before.cancel()

    async def _listen(self, uris: Sequence[str]) -> None:
        """Keeps the stream open, unless the server refuses because it announces no changes."""
        lists = [what for what in ("tools", "prompts", "resources") if self._can(what, "listChanged")]
        wanted: dict[str, Any] = {f"{what}ListChanged": True for what in lists}
        wanted |= {"resourceSubscriptions": uris} if uris else {}
        pause = FIRST_PAUSE_SECONDS
        while wanted:
            began = asyncio.get_running_loop().time()
            try:
                await self._client.ask("subscriptions/listen", {"notifications": wanted})
            except RpcError:
                return
            except UpstreamError:
                if self._client.link.ended.done():
                    return
            lasted = asyncio.get_running_loop().time() - began
            pause = FIRST_PAUSE_SECONDS if lasted > pause else min(pause * 2, MAX_PAUSE_SECONDS)
            await asyncio.sleep(pause)
            for what in lists:
                self._on_change(f"notifications/{what}/list_changed", Raw(b"{}"))
            for uri in uris:
                self._on_change(RESOURCE_UPDATED, Raw(jsonrpc.encode({"uri": uri})))

    def close(self) -> None:
        """Ends the stream."""
        if self._listening is not None:
            self._listening.cancel()
