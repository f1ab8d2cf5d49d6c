"""An ACP client and real MCP servers for tests of the demo agent. Every wait is bounded, every process is ended."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from demo_commands import MISBEHAVING_AGENT

WAIT = 110.0
"""Seconds after which what was waited for will not come."""

LINE = 64 << 20
BN = str(Path(sys.executable).with_name("bn"))

Message = dict[str, Any]


class Fault(Exception):
    """An error that the agent answered with."""

    def __init__(self, error: Message) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Driver:
    """The client of one agent process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.updates: list[Message] = []
        self.asked: list[Message] = []
        """Requests for permission."""

        self.junk: list[bytes] = []
        self.allow: Callable[[Message], str] = lambda _: "allow_once"
        """Which kind of answer a request for permission gets; none for cancelled."""

        self.heard = asyncio.Event()
        """Set with every update."""

        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._reading = asyncio.create_task(self._read())

    async def request(self, method: str, **params: Any) -> Message:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        number = len(self._waiting) + 1
        self._waiting[number] = answer
        self._write({"id": number, "method": method, "params": params})
        async with asyncio.timeout(WAIT):
            found = await answer
        if "error" in found:
            raise Fault(found["error"])
        return found["result"]

    def notify(self, method: str, **params: Any) -> None:
        self._write({"method": method, "params": params})

    def _write(self, message: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            try:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
            except (ValueError, TypeError, KeyError):
                self.junk.append(line)
                continue
            self._take(message)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the agent ended"))

    def _take(self, message: Message) -> None:
        if message.get("method") == "session/update":
            self.updates.append(message["params"]["update"])
            self.heard.set()
        elif message.get("method") == "session/request_permission":
            self.asked.append(message["params"])
            kind = self.allow(message["params"]["toolCall"])
            option = next((one["optionId"] for one in message["params"]["options"] if one["kind"] == kind), None)
            outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
            self._write({"id": message["id"], "result": {"outcome": outcome}})
        elif "method" not in message:
            self._waiting[message["id"]].set_result(message)

    async def open(self, folder: Path, *servers: Message) -> str:
        """Introduces itself and opens a session; its id."""
        await self.request("initialize", protocolVersion=1, clientCapabilities={})
        return (await self.request("session/new", cwd=str(folder), mcpServers=list(servers)))["sessionId"]

    async def prompt(self, session: str, text: str) -> Message:
        return await self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    async def hear(self, wanted: Callable[[Message], bool]) -> Message:
        """Waits for an update."""
        async with asyncio.timeout(WAIT):
            while True:
                if found := next((one for one in self.updates if wanted(one)), None):
                    return found
                self.heard.clear()
                await self.heard.wait()

    def said(self) -> str:
        return self.words("agent_message_chunk")

    def words(self, kind: str) -> str:
        return "".join(one["content"]["text"] for one in self.updates if one["sessionUpdate"] == kind)

    def calls(self) -> list[str]:
        """Titles of the tool calls, in order."""
        return [one["title"] for one in self.updates if one["sessionUpdate"] == "tool_call"]

    async def ended(self) -> int:
        async with asyncio.timeout(WAIT):
            return await self.process.wait()


@asynccontextmanager
async def agent(env: dict[str, str], *flags: str) -> AsyncIterator[Driver]:
    """The demo agent that misbehaves on demand, in a process of its own, which is gone afterwards."""
    process = await asyncio.create_subprocess_exec(
        *MISBEHAVING_AGENT,
        *flags,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LINE,
    )
    driver = Driver(process)
    try:
        yield driver
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(10):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        await driver._reading


@asynccontextmanager
async def served(folder: Path, env: dict[str, str], recipe: str) -> AsyncIterator[Message]:
    """`bn mcp serve` over HTTP: the server as `session/new` names it."""
    process = await asyncio.create_subprocess_exec(
        *(BN, "mcp", "serve", "--http", "127.0.0.1:0", "--recipe", recipe),
        cwd=folder,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(WAIT):
            found = json.loads(await process.stdout.readline())
        headers = [{"name": "Authorization", "value": f"Bearer {found['token']}"}]
        yield {"type": "http", "name": "binnacle", "url": found["url"], "headers": headers}
    finally:
        process.terminate()
        async with asyncio.timeout(WAIT):
            await process.wait()


async def until(happened: Callable[[], bool]) -> None:
    """Looks until something has happened that nobody can tell of."""
    async with asyncio.timeout(WAIT):
        while not happened():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def started(recipe: str, env: dict[str, str]) -> Message:
    """A server on stdio, as `session/new` names it."""
    pairs = [{"name": name, "value": env[name]} for name in ("BN_DATA_DIR", "XDG_CONFIG_HOME")]
    return {"name": "binnacle", "command": BN, "args": ["mcp", "serve", "--recipe", recipe], "env": pairs}


async def bn(folder: Path, env: dict[str, str], *words: str) -> Any:
    """What `bn` answers."""
    process = await asyncio.create_subprocess_exec(BN, *words, cwd=folder, env=env, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(WAIT):
        output, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(output)


async def tasks(folder: Path, env: dict[str, str]) -> dict[str, str]:
    """The status of every task by its title."""
    found = await bn(folder, env, "task", "list", "--all")
    return {task["title"]: task["status"] for task in found["tasks"]}


def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing outside of the test is touched."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "GIT_"))}
    return env | {
        "BN_DATA_DIR": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "VIRTUAL_ENV": sys.prefix,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
