"""Agents as the server meets them: MCP clients of a real `bn mcp serve`, on stdio or on HTTP."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

from cli.conftest import BN, Bn
from server.clients import WAIT, Http, Message, Stdio, messages_of, request

TOKEN = "scenario"
CHANGED = "notifications/tools/list_changed"


class Agent(ABC):
    """One agent with a server of its own. Leaving it ends the server, whatever state it is in."""

    server: Stdio | Http

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        try:
            self.greet()
        except BaseException:
            self.server.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__()

    @abstractmethod
    def greet(self) -> None:
        """Begins to speak to the server."""

    @abstractmethod
    def exchange(self, message: Message) -> Message:
        """Sends a request and returns its answer."""

    @abstractmethod
    def told_of_change(self) -> Any:
        """A context; leaving it waits until the server has said that its tools changed."""

    @abstractmethod
    def leave(self) -> None:
        """Goes away as clients do, and waits until the server has ended."""

    def kill(self) -> None:
        """The server is gone from one moment to the next."""
        self.server.process.kill()
        self.server.wait()

    def ask(self, method: str, params: Message | None = None) -> Any:
        """The result of a request."""
        answer = self.exchange(request(next(self._numbers), method, params))
        assert "result" in answer, answer
        return answer["result"]

    def result(self, tool: str, /, **arguments: Any) -> Message:
        """What a call comes to, as the protocol has it."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def __call__(self, tool: str, /, **arguments: Any) -> Any:
        """The data of a call that must succeed."""
        result = self.result(tool, **arguments)
        assert not result["isError"], result["content"]
        return result["structuredContent"]["data"]

    def text(self, tool: str, /, **arguments: Any) -> str:
        """What the agent reads of a call that must succeed."""
        result = self.result(tool, **arguments)
        assert not result["isError"], result["content"]
        return result["content"][0]["text"]

    def fails(self, tool: str, /, **arguments: Any) -> Message:
        """The error of a call that must fail. Its text says as much as its structure."""
        result = self.result(tool, **arguments)
        assert result["isError"], result["content"]
        error = result["structuredContent"]["error"]
        text = result["content"][0]["text"]
        assert error["message"] in text
        assert error.get("hint", "") in text
        return error

    def tools(self) -> dict[str, Message]:
        """What `tools/list` shows, by name."""
        return {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}

    def prompt(self) -> str:
        """The prompt of the session, as the server has it now."""
        return self.ask("prompts/get", {"name": "session"})["messages"][0]["content"]["text"]


class StdioAgent(Agent):
    """An agent whose client starts the server and speaks to it on two pipes."""

    def __init__(self, bn: Bn, *words: str, env: dict[str, str]) -> None:
        super().__init__()
        self.server: Stdio = Stdio(command=[BN, "mcp", "serve", *words], cwd=bn.repo, env=bn.env | env)

    def greet(self) -> None:
        self.server.initialize()

    def exchange(self, message: Message) -> Message:
        return self.server.ask(message)

    @contextmanager
    def told_of_change(self) -> Generator[None]:
        self.server.seen.clear()
        yield
        while not any(message.get("method") == CHANGED for message in self.server.seen):
            self.server.seen.append(self.server.read())

    def leave(self) -> None:
        self.server.close_input()
        assert self.server.wait() == 0, self.server.said


class HttpAgent(Agent):
    """An agent whose client finds the server on a port."""

    def __init__(self, bn: Bn, *words: str, env: dict[str, str]) -> None:
        super().__init__()
        command = [BN, "mcp", "serve", "--http", "127.0.0.1:0", "--token", TOKEN, "-H", *words]
        self.server: Http = Http(command=command, cwd=bn.repo, env=bn.env | env)

    def greet(self) -> None:
        self.server.client.headers["authorization"] = f"Bearer {TOKEN}"
        self._headers = self.server.session()

    def exchange(self, message: Message) -> Message:
        found: Message = list(messages_of(self.server.post(message, self._headers)))[-1]
        return found

    @contextmanager
    def told_of_change(self) -> Generator[None]:
        with self.server.stream(None, {**self._headers, "authorization": f"Bearer {TOKEN}"}) as events:
            yield
            assert any(message.get("method") == CHANGED for message in events)

    def leave(self) -> None:
        self.server.terminate()
        self.server.process.wait(timeout=WAIT)
