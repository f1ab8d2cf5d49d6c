"""Agent clients as processes of their own, and what they say."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import forked_bn
from cli.conftest import Bn

STUB = str(Path(__file__).with_name("client_process.py"))
WAIT = 60.0
"""Seconds after which what was waited for will not come."""


class Client:
    """An agent client, which is a process. Leaving it kills the process and waits for it."""

    def __init__(self, bn: Bn, *, through: tuple[str, ...] = (), **env: str) -> None:
        """`through` is a command that starts the client, whose words are added to it."""
        self.bn = bn
        command = [*through, sys.executable, STUB]
        self.process = forked_bn.start(command, env=bn.env | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """Kills the client, as the system would, and what it had open with it."""
        self.process.kill()
        self.process.wait(timeout=WAIT)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def leave(self) -> None:
        """Lets the client end by itself."""
        self.process.stdin.close()
        self.process.wait(timeout=WAIT)

    def do(self, what: str, **details: Any) -> Any:
        self.process.stdin.write(json.dumps({"do": what, **details}).encode() + b"\n")
        self.process.stdin.flush()
        said = json.loads(self._line())
        assert "answer" in said, said
        return said["answer"]

    def _line(self) -> bytes:
        end = time.monotonic() + WAIT
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                assert ready.select(end - time.monotonic()), "the client does not answer"
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                assert data, "the client is gone"
                self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def pipe(
        self, name: str = "a", *, era: str = "old", cwd: Path | None = None, options: tuple[str, ...] = (), **env: str
    ) -> "Talk":
        """Starts a server of its own."""
        where = str(cwd or self.bn.repo)
        hello = self.do("pipe", name=name, era=era, cwd=where, env=env, options=list(options))
        return Talk(self, name, hello)

    def web(self, name: str, url: str, token: str = "", *, era: str = "new") -> "Talk":
        """Connects to a server on HTTP."""
        return Talk(self, name, self.do("web", name=name, era=era, url=url, token=token))

    def shell(self, *words: str, cwd: Path | None = None, through: str = "shell", **env: str) -> dict[str, Any]:
        """What a `bn` in the client's own shell came to."""
        where = str(cwd or self.bn.repo)
        return self.do("shell", words=list(words), cwd=where, env=env, through=through)

    def bn_json(self, *words: str, **options: Any) -> Any:
        """The JSON answer of a `bn` in its shell, which must succeed."""
        done = self.shell(*words, **options)
        assert done["code"] == 0, done["err"]
        return json.loads(done["out"])


class Talk:
    """One connection of a client."""

    def __init__(self, client: Client, name: str, hello: dict[str, Any]) -> None:
        self.client = client
        self.name = name
        self.hello = hello

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.client.do("ask", on=self.name, method=method, params=params)

    def tool(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a call."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        assert "result" in answer, answer
        return answer["result"]

    def data(self, tool: str, /, **arguments: Any) -> Any:
        """The data of a call that must succeed."""
        result = self.tool(tool, **arguments)
        assert not result["isError"], result["content"][0]["text"]
        return result["structuredContent"]["data"]

    def error(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must fail."""
        result = self.tool(tool, **arguments)
        assert result["isError"], result["content"][0]["text"]
        return result["structuredContent"]["error"]

    def tools(self) -> dict[str, dict[str, Any]]:
        return {tool["name"]: tool for tool in self.ask("tools/list")["result"]["tools"]}

    def read(self, uri: str) -> str:
        return self.ask("resources/read", uri=uri)["result"]["contents"][0]["text"]

    def heard(self) -> list[str]:
        return self.client.do("heard", on=self.name)

    def close(self) -> None:
        self.client.do("close", on=self.name)

    def kill_server(self) -> None:
        self.client.do("kill server", on=self.name)
