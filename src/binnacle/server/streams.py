"""Server-sent events: messages to a client as they come, and a sign of life when none do."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from binnacle.server.engine import Answer

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Queue = asyncio.Queue[bytes | None]
"""Messages on their way to a client; None ends the stream."""

LENGTH = 1000
"""Messages kept for a client that does not read; a slower one loses its stream."""

KEEP_ALIVE = 15.0
"""Seconds between two signs of life on a silent stream, so that nothing on the way takes it for dead."""

_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


def offer(queue: Queue, message: bytes | None) -> None:
    """Puts a message into a bounded queue. A client that does not read loses its stream, not the server its memory."""
    try:
        queue.put_nowait(message)
    except asyncio.QueueFull:
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)


async def disconnected(receive: Receive) -> None:
    """Waits until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def stream(
    queue: Queue,
    send: Send,
    gone: asyncio.Future[None],
    *,
    first: asyncio.Future[bytes | None] | None = None,
    work: asyncio.Future[Answer] | None = None,
) -> None:
    """Sends what comes through the queue until it ends or the client has gone; the answer of `work` comes last."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": b": open\n\n", "more_body": True})
    upcoming: asyncio.Future[bytes | None] = first or asyncio.ensure_future(queue.get())
    try:
        while True:
            waiting: set[asyncio.Future[Any]] = {upcoming, gone}
            await asyncio.wait(waiting, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            if not upcoming.done():
                await send({"type": "http.response.body", "body": b": alive\n\n", "more_body": True})
                continue
            message = upcoming.result()
            if message is None:
                break
            await send(_event(message))
            upcoming = asyncio.ensure_future(queue.get())
        if work is not None and work.done() and not work.cancelled():
            await send(_event(work.result().message))
        await send({"type": "http.response.body", "body": b""})
    finally:
        upcoming.cancel()


def _event(message: bytes) -> MutableMapping[str, Any]:
    return {"type": "http.response.body", "body": b"event: message\ndata: %b\n\n" % message, "more_body": True}
