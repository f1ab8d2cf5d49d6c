"""`bn mcp serve` on each transport, and many calls of it at once."""

import asyncio
import contextlib
import itertools
import json
import os
import random
import re
import signal
from collections.abc import Callable
from typing import Any

import httpx

from cli.conftest import BN, Bn
from server.clients import Message, Server, Stdio, call, cancelled, headers_for, new_call, request

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

Headers = dict[str, str | None]
Asked = asyncio.Future[Message]
"""A call under way. Its answer comes, or it is cancelled when there will be none."""


class Piped(Stdio):
    """A server on two pipes, and the calls made of it."""

    ENDINGS = ("close input", "close both", "terminate", "kill")

    def __init__(self, bn: Bn, dice: random.Random, *options: str) -> None:
        super().__init__(command=[BN, "mcp", "serve", *options], cwd=bn.repo, env=bn.env)
        self.unasked: list[Message] = []
        """Messages that answer nothing that was asked and not given up."""

        self._dice = dice
        self._numbers = itertools.count()
        self._waiting: dict[int, Asked] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.process.stdout.fileno(), self._hear)

    async def begin(self) -> None:
        await asyncio.wait([self._ask(lambda number: request(number, "initialize", HELLO))])

    def ask(self, tool: str, **arguments: Any) -> Asked:
        """Begins a call, in either era."""
        make = self._dice.choice([call, new_call])
        return self._ask(lambda number: make(number, tool, **arguments))

    def _ask(self, make: Callable[[int], Message]) -> Asked:
        number = next(self._numbers)
        asked = self._waiting[number] = self._loop.create_future()
        try:
            self.send(make(number))
        except (BrokenPipeError, ValueError):  # its other end, or ours, is closed
            self._waiting.pop(number).cancel()
        return asked

    async def give_up(self, asked: Asked) -> None:
        """Cancels a call. What the server answers later than this, it must not answer."""
        number = next((number for number, one in self._waiting.items() if one is asked), None)
        if number is None or self.process.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self.send(cancelled(number))
        await asyncio.wait([self._ask(lambda number: request(number, "ping"))])
        if self._waiting.pop(number, None):
            asked.cancel()

    def _hear(self) -> None:
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for message in map(json.loads, lines):
            asked = self._waiting.pop(message.get("id"), None)
            if asked is None:
                self.unasked.append(message)
            else:
                asked.set_result(message)
        if not data:
            self._hang_up()

    def _hang_up(self) -> None:
        self._loop.remove_reader(self.process.stdout.fileno())
        while self._waiting:
            self._waiting.popitem()[1].cancel()

    def end(self, how: str) -> None:
        match how:
            case "close input":
                self.close_input()
            case "close both":
                self.close_input()
                self._hang_up()
                self.process.stdout.close()
            case _:
                self.process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)


class Posted(Server):
    """A server on a port of its own, and the calls made of it, each on a connection of its own."""

    ENDINGS = ("drop", "terminate", "kill")

    def __init__(self, bn: Bn, dice: random.Random, *options: str) -> None:
        command = [BN, "mcp", "serve", "--http", "0", "--no-auth", *options]
        super().__init__(command=command, cwd=bn.repo, env=bn.env)
        self.unasked: list[Message] = []
        """Answers to what somebody else asked."""

        self._dice = dice
        self._url = httpx.URL()
        self._session: Headers = {}
        self._numbers = itertools.count()
        self._posts: set[asyncio.Task[Message]] = set()

    async def begin(self) -> None:
        self._url = httpx.URL(json.loads(self.process.stdout.readline())["url"])
        head, _ = await self._post(request("init", "initialize", HELLO), {})
        self._session = {"mcp-session-id": re.search(r"mcp-session-id: (\w+)", head)[1]}

    def ask(self, tool: str, **arguments: Any) -> Asked:
        make, headers = self._dice.choice([(call, self._session), (new_call, {})])
        asked = asyncio.create_task(self._answer(make(next(self._numbers), tool, **arguments), headers))
        self._posts.add(asked)
        asked.add_done_callback(self._posts.discard)
        return asked

    async def _answer(self, message: Message, headers: Headers) -> Message:
        try:
            _, body = await self._post(message, headers)
        except ConnectionError:
            body = ""
        if not body:
            raise asyncio.CancelledError
        answer = json.loads(body)
        if answer["id"] != message["id"]:
            self.unasked.append(answer)
        return answer

    async def _post(self, message: Message, headers: Headers) -> tuple[str, str]:
        """The head and the body of what comes back. Cancelled, it closes the connection, which httpx may not do."""
        body = json.dumps(message)
        own = {"host": "localhost", "connection": "close", "content-length": f"{len(body)}"}
        head = [f"{name}: {value}" for name, value in (headers_for(message, headers) | own).items()]
        reader, writer = await asyncio.open_connection(self._url.host, self._url.port)
        try:
            writer.write("\r\n".join(["POST /mcp HTTP/1.1", *head, "", body]).encode())
            answer = await reader.read()
        finally:
            writer.close()
        return answer.decode().partition("\r\n\r\n")[::2]

    async def give_up(self, asked: Asked) -> None:
        """Drops the connection."""
        asked.cancel()
        await asyncio.wait([asked])

    def end(self, how: str) -> None:
        for asked in self._posts if how == "drop" else ():
            asked.cancel()
        self.process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
