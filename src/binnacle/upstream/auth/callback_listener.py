"""Receives the answer of a login page: a web server for one browser and one answer, on this machine only."""

import asyncio
import contextlib
import secrets
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

HOST = "127.0.0.1"
PATH = "/callback"
MAX_HEAD_BYTES = 16 << 10
"""Bytes of a request's head."""

REQUEST_SECONDS = 10.0
"""Seconds for a browser to send its request."""

MAX_CONNECTIONS = 32
"""Open at once: a browser needs two or three."""

_HEAD = (
    "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\n"
)


class CallbackListener:
    """Listens while the block runs. Serves only its own two pages.

    The browser opens `start_url`, which redirects to the login page once: every user of a machine can see the arguments
    of a browser, and the address of a login page contains secrets.
    """

    def __init__(self, port: int = 0) -> None:
        """Listens at `port` if it is free, else at any."""
        self.state = secrets.token_urlsafe(32)
        self.login_url = ""
        """Where `start_url` leads. Set before a browser is opened."""

        self._port = port
        self._start = f"/start/{secrets.token_urlsafe(16)}"
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._open: set[asyncio.Task[None]] = set()

    @property
    def redirect_uri(self) -> str:
        return f"http://{HOST}:{self._port}{PATH}"

    @property
    def start_url(self) -> str:
        return f"http://{HOST}:{self._port}{self._start}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve, HOST, self._port, limit=MAX_HEAD_BYTES)
        except OSError:
            self._server = await asyncio.start_server(self._serve, HOST, 0, limit=MAX_HEAD_BYTES)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        if self._open:
            await asyncio.wait(self._open, timeout=1.0)
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def wait_answer(self) -> dict[str, str]:
        """What the login page answers, with the state that it was given."""
        return await self._answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(REQUEST_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._page(head.decode("latin-1")).encode())
                    await writer.drain()
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()

    def _page(self, head: str) -> str:
        request, *fields = head.split("\r\n")
        method, _, rest = request.partition(" ")
        target = rest.rpartition(" ")[0]
        hosts = [field.partition(":")[2].strip() for field in fields if field.lower().startswith("host:")]
        # A page elsewhere whose name leads to this machine must not speak to us.
        if method != "GET" or hosts != [f"{HOST}:{self._port}"]:
            return _text("400 Bad Request", "This is not a page for that.")
        if target == self._start and self.login_url:
            login_url, self.login_url = self.login_url, ""
            return f"HTTP/1.1 302 Found\r\n{_HEAD}Location: {login_url}\r\nContent-Length: 0\r\n\r\n"
        parts = urlsplit(target)
        if parts.path != PATH:
            return _text("404 Not Found", "There is no such page.")
        return self._receive(dict(parse_qsl(parts.query)))

    def _receive(self, answer: dict[str, str]) -> str:
        """Takes an answer with the right state. Any other did not come from the login page, and we keep waiting."""
        if not secrets.compare_digest(answer.get("state", "").encode(), self.state.encode()):
            return _text("400 Bad Request", "This is not an answer to the login that Binnacle waits for.")
        if not self._answer.done():
            self._answer.set_result(answer)
        return _text("200 OK", "Binnacle has received the answer. You may close this page.")


def _text(status: str, text: str) -> str:
    return (
        f"HTTP/1.1 {status}\r\n{_HEAD}Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(text.encode())}\r\n\r\n{text}"
    )
