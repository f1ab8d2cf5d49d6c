"""`bn gui` as a real process, and a browser's requests to it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx

import forked_bn
from forked_bn import BN

TIMEOUT_SECONDS = 60


class ServedGui:
    """A page that is served for a repository. Leaving the block ends its process."""

    def __init__(self, repo: Path, *options: str, port: int = 0, env: Mapping[str, str] | None = None) -> None:
        self.repo = repo
        self.env = {**os.environ, **(env or {})}
        self.process = forked_bn.start(
            [BN, "gui", "--json", "--no-open", "--port", str(port), *options],
            cwd=repo,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.ready: dict[str, Any] = json.loads(self.process.stdout.readline() or self._fail())
        self.link: str = self.ready["url"]
        self.project: str = self.ready["project"]
        self.base = self.link.partition("/?")[0]
        self.port = int(self.base.rpartition(":")[2])

    def _fail(self) -> str:
        said = self.process.stderr.read().decode()
        self.stop()
        raise AssertionError(said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends the process and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(TIMEOUT_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def make_link(self) -> str:
        """Another link, by the command that people use."""
        return bn(self.repo, "gui", "--link", "--port", str(self.port), env=self.env)["url"]

    def stranger(self, **headers: str) -> httpx.Client:
        """A browser without the cookie."""
        return httpx.Client(base_url=self.base, headers=headers, timeout=TIMEOUT_SECONDS)

    def browser(self, **headers: str) -> httpx.Client:
        """A browser that has opened a link."""
        client = self.stranger(**headers)
        answer = httpx.get(self.make_link(), timeout=TIMEOUT_SECONDS)
        assert answer.status_code == 200, answer.text
        client.cookies = answer.cookies
        return client

    def acting(self) -> httpx.Client:
        """A browser with the headers that our own page sends with a change."""
        return self.browser(**{"origin": self.base, "x-binnacle-page": "1", "content-type": "application/json"})


def bn(repo: Path, *words: str, env: Mapping[str, str] | None = None) -> Any:
    """The JSON answer of a command."""
    done = forked_bn.run([BN, *words], timeout=TIMEOUT_SECONDS, cwd=repo, env=dict(env or os.environ))
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def add_task(repo: Path, title: str, *, env: Mapping[str, str] | None = None) -> str:
    """Adds a task and returns its id."""
    return bn(repo, "task", "add", title, env=env)["tasks"][0]["id"]


class OpenStream:
    """The stream of a page: its messages one after the other."""

    def __init__(self, client: httpx.Client, query: str = "", **headers: str) -> None:
        self._context = client.stream(
            "GET", f"/api/stream{query}", headers={"sec-fetch-site": "same-origin", **headers}
        )
        self.response = self._context.__enter__()
        self._lines = self.response.iter_lines() if self.response.status_code == 200 else iter(())
        self.newest_id = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.__exit__(None, None, None)

    def messages(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The messages by name, as they come."""
        name = ""
        for line in self._lines:
            key, _, value = line.partition(": ")
            if key == "event":
                name = value
            elif key == "id":
                self.newest_id = value
            elif key == "data":
                yield name, json.loads(value)

    def changes(self) -> Iterator[dict[str, Any]]:
        """The messages about events."""
        return (message for name, message in self.messages() if name == "message")

    def events(self, count: int) -> list[dict[str, Any]]:
        """The next events, at least so many."""
        found: list[dict[str, Any]] = []
        for message in self.changes():
            found += message.get("events", [])
            if len(found) >= count:
                break
        return found
