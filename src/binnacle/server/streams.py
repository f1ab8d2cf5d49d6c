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
"""Messages kept for a client that does not read."""

KEEP_ALIVE = 15.0
"""Seconds between two signs of life on a silent stream, so that nothing on the way takes it for dead."""

_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


def mention(queue: Queue, message: bytes) -> None:
    """Adds to the stream of a request. A client that does not read misses progress and logs, never the answer."""
    if queue.qsize() < LENGTH:
        queue.put_nowait(message)


def announce(queue: Queue, message: bytes) -> None:
    """Adds to a stream of changes. A client that does not read loses it, and reads everything anew with the next."""
    if queue.qsize() < LENGTH:
        queue.put_nowait(message)
        return
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
    keep_alive: float,
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
            await asyncio.wait(waiting, timeout=keep_alive, return_when=asyncio.FIRST_COMPLETED)
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
