"""A real Firefox on the page, driven over WebDriver BiDi: the standard's own JSON messages over a websocket.

Playwright drives a Firefox of its own making; this is the one that people have.
"""

import asyncio
import contextlib
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from page.browsing import need_browsers

START_SECONDS = 120.0
WAIT_MILLISECONDS = 20_000
"""The bound of every wait for the page on a machine that does much else."""

LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
EVENTS = ["log.entryAdded", "network.beforeRequestSent"]
CONTROL = "\ue009"

WAIT_UNTIL = """() => new Promise((resolve, reject) => {
  const isSo = () => { try { return !!(CONDITION); } catch { return false; } };
  if (isSo()) return resolve(true);
  const observer = new MutationObserver(() => isSo() && (observer.disconnect(), resolve(true)));
  observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  setTimeout(() => reject(new Error("not so: " + document.body.innerText.slice(0, 500))), MILLISECONDS);
})"""


class Firefox:
    """A browser with one tab. What its scripts complain about and which addresses it asks are kept."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._tab = ""
        self.faults: list[str] = []
        self.requests: list[str] = []

    async def read(self) -> None:
        """Takes what the browser sends, until it closes the connection."""
        async for message in self._socket:
            told = json.loads(message.data)
            if told["type"] == "event":
                self._hear(told["method"], told["params"])
            elif (waiting := self._answers.pop(told.get("id"), None)) is not None:
                waiting.set_result(told)

    def _hear(self, method: str, said: dict[str, Any]) -> None:
        if method == "network.beforeRequestSent":
            self.requests.append(said["request"]["url"])
        elif said["level"] in ("error", "warn"):
            self.faults.append(f"{said['level']}: {said['text']}")

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Gives a command, and returns its result."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(START_SECONDS):
            told = await answer
        assert told["type"] == "success", told
        return told["result"]

    async def begin(self) -> None:
        await self.send("session.new", capabilities={})
        await self.send("session.subscribe", events=EVENTS)
        tree = await self.send("browsingContext.getTree")
        self._tab = tree["contexts"][0]["context"]

    async def show(self, address: str) -> None:
        await self.send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    async def evaluate(self, function: str) -> Any:
        """What a function without arguments returns in the page, if that is a plain value."""
        result = await self.send(
            "script.callFunction",
            functionDeclaration=function,
            awaitPromise=True,
            target={"context": self._tab},
        )
        assert result["type"] == "success", result["exceptionDetails"]["text"]
        return result["result"].get("value")

    async def wait_until(self, condition: str) -> None:
        """Waits until an expression is true in the page."""
        function = WAIT_UNTIL.replace("CONDITION", condition).replace("MILLISECONDS", str(WAIT_MILLISECONDS))
        assert await self.evaluate(function)

    async def press(self, *keys: str, held: str = "") -> None:
        """Presses keys one after the other, while `held` is down."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        if held:
            strokes = [{"type": "keyDown", "value": held}, *strokes, {"type": "keyUp", "value": held}]
        keyboard = {"type": "key", "id": "keyboard", "actions": strokes}
        await self.send("input.performActions", context=self._tab, actions=[keyboard])


@asynccontextmanager
async def open_firefox(profile: Path) -> AsyncIterator[Firefox]:
    """Firefox without a window, with a profile of its own. Leaving the block ends it."""
    need_browsers()
    program = shutil.which("firefox-esr")
    assert program is not None
    profile.mkdir()
    process = await asyncio.create_subprocess_exec(
        program,
        *("--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            address = await _read_address(process)
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(f"{address}/session", max_msg_size=0) as socket,
        ):
            firefox = Firefox(socket)
            reading = asyncio.create_task(firefox.read())
            await firefox.begin()
            yield firefox
            reading.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def _read_address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    said = b""
    while line := await process.stderr.readline():
        said += line
        if found := LISTENING.search(line):
            return found[1].decode()
    raise AssertionError(said.decode(errors="replace"))
