"""Processes that a program starts and that are slow to come under the debugger, or never do."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from binnacle.bridge.debug import debug_target as module
from bridge.debug.desk import Desk


class Adapter:
    """An adapter whose program starts one process as soon as it runs."""

    def __init__(self, *, refuses: str = "") -> None:
        self.refuses = refuses
        """What it does not do for that process."""

        self.heard: list[tuple[str, str]] = []
        """What it was asked for, and for whom."""

        self.is_joined = asyncio.Event()
        """Set when somebody speaks for that process."""

        self.port = 0
        self._talks: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._welcome, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        await asyncio.gather(*self._talks)

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._talks.add(asyncio.ensure_future(self._talk(reader, writer, "child" if self._talks else "program")))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, who: str) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int((await reader.readuntil(b"\r\n\r\n")).split(b":")[1])
                asked = json.loads(await reader.readexactly(size))
                if who == "child":
                    self.is_joined.set()
                if asked["type"] == "request":
                    # Slower than a loop that waits for no time at all.
                    for _ in range(50):
                        await asyncio.sleep(0)
                    self.heard.append((who, asked["command"]))
                    self._answer(writer, who, asked)
        writer.close()

    def _answer(self, writer: asyncio.StreamWriter, who: str, asked: dict[str, Any]) -> None:
        command = asked["command"]
        is_done = (who, command) != ("child", self.refuses)
        body = {"supportsConfigurationDoneRequest": True} if command == "initialize" else {}
        answer = {"type": "response", "request_seq": asked["seq"], "command": command, "body": body}
        send(writer, answer | {"success": is_done, "message": "no"})
        if command == "attach":
            send(writer, {"type": "event", "event": "initialized"})
        if (who, command) == ("program", "configurationDone"):
            joining = {"request": "attach", "configuration": {"connect": {"port": self.port}}}
            send(writer, {"type": "request", "command": "startDebugging", "arguments": joining})


def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    body = json.dumps(message | {"seq": 1}).encode()
    writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def debug(desk: Desk, adapter: Adapter) -> str:
    """Has a program debugged until what becomes of its child is known; returns the child's state."""

    async def run() -> str:
        await adapter.listen()
        try:
            await desk.ask("debug.start", port=adapter.port, wait=False)
            (session,) = desk.debugger.live()
            await adapter.is_joined.wait()
            await asyncio.gather(*session._joining)
            state = session.targets[1].state
            await desk.ask("debug.stop")
            return state
        finally:
            await adapter.close()

    return desk.run(run())


def test_a_child_that_is_slow_to_answer_comes_under_the_debugger(desk, monkeypatch):
    # What is at hand later is not so while a process comes up: it may have all of its modules to load.
    monkeypatch.setattr(module, "ANSWER_TIMEOUT_SECONDS", 0.0)
    desk("breakpoint.set", path="family.py", line=6)
    assert debug(desk, Adapter()) == "running"


@pytest.mark.parametrize("refused", ["setBreakpoints", "configurationDone", "attach"])
def test_a_child_that_cannot_be_debugged_is_let_go(desk, refused):
    desk("breakpoint.set", path="family.py", line=6)
    adapter = Adapter(refuses=refused)
    assert debug(desk, adapter) == "terminated"
    heard = [command for who, command in adapter.heard if who == "child"]
    assert heard[-2:] == ["configurationDone", "disconnect"]
