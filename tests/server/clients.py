"""Clients that speak to a real server process, byte by byte where a test wants it. Every wait is bounded."""

import contextlib
import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import httpx

import forked_bn
from binnacle.wire.mcp import CAPABILITIES_KEY, NAMED, VERSION_KEY

FIXTURE = str(Path(__file__).with_name("fixture.py"))
NEW = "2026-07-28"
"""The version of the stateless era."""

WAIT = 30.0
"""Seconds after which what was waited for will not come."""

LOOK_AGAIN_SECONDS = 0.003
"""Between two looks at what cannot be waited for. Without a pause the looks take the processor from what is awaited."""

Message = dict[str, Any]


def stateless(params: Message | None = None, **meta: Any) -> Message:
    """Parameters as the stateless era wants them."""
    return {**(params or {}), "_meta": {VERSION_KEY: NEW, CAPABILITIES_KEY: {}, **meta}}


def request(request_id: Any, method: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def notification(method: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def call(request_id: Any, tool: str, /, **arguments: Any) -> Message:
    """A call of a tool, in the handshake era."""
    return request(request_id, "tools/call", {"name": tool, "arguments": arguments})


def new_call(request_id: Any, tool: str, /, **arguments: Any) -> Message:
    """A call of a tool, in the stateless era."""
    return request(request_id, "tools/call", stateless({"name": tool, "arguments": arguments}))


def cancelled(request_id: Any) -> Message:
    return notification("notifications/cancelled", {"requestId": request_id})


def text_of(message: Message) -> str:
    """The text in the result of a tool."""
    return message["result"]["content"][0]["text"]


def wait_for(happened: Callable[[], bool], otherwise: str) -> None:
    """Looks until something has happened that nobody can tell of."""
    end = time.monotonic() + WAIT
    while not happened():
        assert time.monotonic() < end, otherwise
        time.sleep(LOOK_AGAIN_SECONDS)


class Server:
    """A server process. Leaving it ends the process, whatever state it is in."""

    def __init__(self, *words: str, command: list[str] | None = None, **options: Any) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        streams: Message = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.log}
        self.process = forked_bn.start(command or [sys.executable, FIXTURE, *words], **(streams | options))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=WAIT)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self.log.close()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self.process.wait(timeout=WAIT)

    @property
    def said(self) -> str:
        """What it wrote to standard error so far."""
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def wait_until_said(self, text: str) -> None:
        """Waits until it has written a text to standard error."""
        wait_for(lambda: text in self.said, f"the server does not say '{text}'")

    @property
    def is_asleep(self) -> bool:
        """Whether it has nothing to do at this moment."""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].startswith("S")

    @property
    def peak(self) -> int:
        """Bytes it held in memory at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))


class Stdio(Server):
    """A server on two pipes."""

    def __init__(self, *words: str, command: list[str] | None = None, **options: Any) -> None:
        super().__init__(*(words or ("stdio",)), command=command, **options)
        self.seen: list[Message] = []
        """What came while an answer was waited for."""

        self._unread = b""

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages: Any) -> None:
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def line(self) -> bytes:
        """The next line. Fails if the server ends or stays silent."""
        end = time.monotonic() + WAIT
        while b"\n" not in self._unread:
            data = self._read(end)
            assert data, f"the server ended: {self.said}"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _read(self, end: float) -> bytes:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(max(0.0, end - time.monotonic())), f"the server is silent: {self.said}"
        return os.read(self.process.stdout.fileno(), 1 << 20)

    def read(self) -> Any:
        """The next message."""
        return json.loads(self.line())

    def answer(self, request_id: Any) -> Message:
        """The answer to a request; what comes before it is kept in `seen`."""
        while True:
            message = self.read()
            if isinstance(message, dict) and "method" not in message and message["id"] == request_id:
                return message
            self.seen.append(message)

    def ask(self, message: Message) -> Message:
        """Sends a request and returns its answer."""
        self.send(message)
        return self.answer(message["id"])

    def initialize(self, version: str = "2025-11-25", **capabilities: Any) -> Message:
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.ask(request("init", "initialize", params))
        self.send(notification("notifications/initialized"))
        return answer

    def wait_until_full(self) -> None:
        """Waits until the server has written all that the pipe takes."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        size = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
        in_it = lambda: int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)  # noqa: E731
        wait_for(lambda: in_it() == size, "the server does not fill the pipe")

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def rest(self) -> list[Any]:
        """Every message until the server closes its side."""
        end = time.monotonic() + WAIT
        while data := self._read(end):
            self._unread += data
        lines, self._unread = self._unread.splitlines(), b""
        return [json.loads(line) for line in lines]


class Http(Server):
    """A server on a port of its own, and a client of it."""

    def __init__(
        self,
        *words: str,
        port: str = "0",
        on_loop: str = "asyncio",
        command: list[str] | None = None,
        **options: Any,
    ) -> None:
        loop = ("--uvloop",) if on_loop == "uvloop" else ()
        super().__init__(*loop, "http", port, *words, command=command, **options)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().strip()
        if not self.url:
            said = self.said
            super().__exit__()
            raise AssertionError(said)
        self.client = httpx.Client(timeout=WAIT)

    def __exit__(self, *_: object) -> None:
        self.client.close()
        super().__exit__()

    def post(self, message: Any, headers: dict[str, str | None] | None = None) -> httpx.Response:
        """Posts a message, with the headers that its era wants, and changes to them; None takes one away."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.client.post(self.url, content=content, headers=headers_for(message, headers))

    def ask(self, message: Message, **headers: str | None) -> Message:
        """The answer to a request, however it came."""
        with self.stream(message, dict(headers)) as events:
            found = list(events)
        return found[-1]

    @contextlib.contextmanager
    def stream(self, message: Message | None, headers: dict[str, str | None] | None = None) -> Iterator[Iterator[Any]]:
        """What comes back for a message, as it comes; for None, what belongs to no request. Leaving it disconnects."""
        content = None if message is None else json.dumps(message).encode()
        method = "GET" if message is None else "POST"
        with (
            httpx.Client(timeout=WAIT) as client,
            client.stream(method, self.url, content=content, headers=headers_for(message, headers)) as response,
        ):
            yield messages_of(response)

    def session(self, version: str = "2025-11-25", **capabilities: Any) -> dict[str, str | None]:
        """Begins a session of the handshake era. Returns the headers of its requests."""
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.post(request("init", "initialize", params))
        headers: dict[str, str | None] = {
            "mcp-session-id": answer.headers["mcp-session-id"],
            "mcp-protocol-version": answer.json()["result"]["protocolVersion"],
        }
        assert self.post(notification("notifications/initialized"), headers).status_code == 202
        return headers


def headers_for(message: Any, changes: dict[str, str | None] | None = None) -> dict[str, str]:
    """The headers of a message of either era."""
    headers: dict[str, str | None] = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and VERSION_KEY in meta:
        headers |= {"mcp-protocol-version": meta[VERSION_KEY], "mcp-method": message["method"]}
        if key := NAMED.get(message["method"]):
            headers["mcp-name"] = params[key]
    return {name: value for name, value in (headers | (changes or {})).items() if value is not None}


def messages_of(response: httpx.Response) -> Iterator[Any]:
    """The messages in a response: one in JSON, several in a stream."""
    if response.headers["content-type"] == "application/json":
        yield json.loads(response.read())
        return
    assert response.headers["content-type"] == "text/event-stream"
    end = time.monotonic() + WAIT
    for line in response.iter_lines():  # signs of life come however long nothing else does
        assert time.monotonic() < end, "no message comes"
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
            end = time.monotonic() + WAIT
