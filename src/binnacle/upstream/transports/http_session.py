"""aiohttp's pool of connections, for what our own cannot do: proxies, WebSockets and logins. Loaded when it is used.

Loading aiohttp takes 0.2 s and 12 MB, which a server at a plain URL does not need.
"""

import asyncio
import sys
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binnacle import __version__
from binnacle.upstream.transports.address_policy import open_socket
from binnacle.upstream.transports.http_connections import KEEP_ALIVE_SECONDS

if TYPE_CHECKING:
    import aiohttp

USER_AGENT = {"User-Agent": f"binnacle/{__version__}"}


class HttpSession:
    """One pool for all servers. Close it, or use it in an `async with` block."""

    def __init__(self) -> None:
        self._opened: aiohttp.ClientSession | None = None

    @property
    def opened(self) -> "aiohttp.ClientSession | None":
        """The pool, if it has been needed."""
        return self._opened

    async def open(self) -> "aiohttp.ClientSession":
        """The pool. The first caller waits until aiohttp is loaded."""
        if "aiohttp" not in sys.modules:
            # In a thread: it would delay our answers to clients for too long.
            await asyncio.to_thread(import_module, "aiohttp")
        if self._opened is None:
            self._opened = _open_pool()
        return self._opened

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _open_pool() -> "aiohttp.ClientSession":
    """A pool without a bound on connections, because a server that hangs would block the others.

    It keeps no cookies, because two servers on one host may know us by different names.
    """
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS, socket_factory=open_socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(),
        headers=USER_AGENT,
    )
