"""The protocol itself, with adapters that keep to it and adapters that do not."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable

import pytest

from binnacle.bridge.debug import dap as protocol
from binnacle.bridge.debug.dap import AdapterGone, AdapterRefused, DapConnection


def frame(message: dict) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Far:
    """The adapter's end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        sock.setblocking(False)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._sock, data)

    async def hear(self) -> dict:
        loop = asyncio.get_running_loop()
        data = b""
        while b"\r\n\r\n" not in data:
            data += await loop.sock_recv(self._sock, 1)
        size = int(data.split(b":")[1])
        body = b""
        while len(body) < size:
            body += await loop.sock_recv(self._sock, size - len(body))
        return json.loads(body)

    def close(self) -> None:
        self._sock.close()


def speak(test: Callable[[DapConnection, Far, list], Awaitable[None]]) -> None:
    """Runs a test on a connection; events that come are in the list."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        events: list = []
        far = Far(theirs)
        near = await DapConnection.over(
            ours, lambda *event: events.append(event), lambda command, _: command == "known"
        )
        try:
            async with asyncio.timeout(30):
                await test(near, far, events)
        finally:
            near.close()
            await near.closed
            far.close()

    asyncio.run(run())


def test_answers_find_their_requests_in_any_order():
    async def test(near: DapConnection, far: Far, _events: list) -> None:
        one, other = near.post("one", {"x": 1}), near.post("other")
        first, second = await far.hear(), await far.hear()
        assert (first["command"], first["arguments"]) == ("one", {"x": 1})
        for asked, body in ((second, {"n": 2}), (first, {"n": 1})):
            await far.send(frame({"type": "response", "request_seq": asked["seq"], "success": True, "body": body}))
        assert protocol.body_of("one", await one) == {"n": 1}
        assert protocol.body_of("other", await other) == {"n": 2}

    speak(test)


def test_messages_may_come_in_pieces_and_several_at_once():
    async def test(near: DapConnection, far: Far, events: list) -> None:
        data = frame({"type": "event", "event": "a", "body": {"text": "ü"}}) + frame({"type": "event", "event": "b"})
        for byte in data:
            await far.send(bytes([byte]))
            await asyncio.sleep(0)
        asked = near.post("last")
        await far.hear()
        await far.send(frame({"type": "response", "request_seq": 1, "success": True}))
        await asked
        assert events == [("a", {"text": "ü"}), ("b", {})]

    speak(test)


def test_a_refusal_has_the_adapters_reason():
    async def test(near: DapConnection, far: Far, _events: list) -> None:
        asking = asyncio.ensure_future(near.request("launch", timeout=30))
        asked = await far.hear()
        error = {"error": {"format": "no {what}", "variables": {"what": "luck"}}}
        answer = {"type": "response", "request_seq": asked["seq"], "command": "launch", "success": False, "body": error}
        await far.send(frame(answer))
        with pytest.raises(AdapterRefused) as caught:
            await asking
        assert caught.value.message == "no luck"

    speak(test)


def test_an_answer_that_does_not_come_is_given_up_and_passed_over_later():
    async def test(near: DapConnection, far: Far, _events: list) -> None:
        with pytest.raises(TimeoutError):
            await near.request("slow", timeout=0.01)
        await far.send(frame({"type": "response", "request_seq": 1, "success": True}))
        asking = asyncio.ensure_future(near.request("next", timeout=30))
        await far.hear()
        asked = await far.hear()
        await far.send(frame({"type": "response", "request_seq": asked["seq"], "success": True, "body": None}))
        assert await asking == {}

    speak(test)


def test_requests_of_the_adapter_are_answered_at_once():
    async def test(_near: DapConnection, far: Far, _events: list) -> None:
        for number, command in enumerate(("known", "unknown")):
            await far.send(frame({"type": "request", "seq": number, "command": command}))
            answer = await far.hear()
            assert (answer["type"], answer["request_seq"]) == ("response", number)
            assert answer["success"] == (command == "known")

    speak(test)


def test_a_connection_that_ends_answers_all_that_is_open():
    async def test(near: DapConnection, far: Far, _events: list) -> None:
        asking = asyncio.ensure_future(near.request("one", timeout=30))
        await far.hear()
        far.close()
        with pytest.raises(AdapterGone):
            await asking
        with pytest.raises(AdapterGone):
            await near.request("two", timeout=30)

    speak(test)


@pytest.mark.parametrize(
    "junk",
    [
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Type: json\r\n\r\n{}",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 3\r\n\r\n{{{",
        b"warning: " + b"x" * 5000,
    ],
)
def test_what_is_no_message_ends_the_connection(junk):
    async def test(near: DapConnection, far: Far, _events: list) -> None:
        await far.send(junk)
        await near.closed
        with pytest.raises(AdapterGone):
            await near.request("one", timeout=30)

    speak(test)
