"""An agent that debugs: a client of `bn mcp serve` on stdio, in a workspace where every process carries a mark."""

import json
import os
import select
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.conftest import BN, Bn
from passthrough.stage import Stage
from server.clients import WAIT, Message, Stdio, call, cancelled, request

SHOP = """\
def total(prices):
    amount = 0
    for price in prices:
        amount += price
    return amount


print("total", total([2, 5, 3]))
"""

ENDLESS = """\
import time

count = 0
print("ready", flush=True)
while True:
    count += 1
    time.sleep(0.01)
"""


class Agent(Stdio):
    """One session with the debugger's tools."""

    def __init__(self, bench: "Bench", *options: str) -> None:
        super().__init__(
            command=[BN, "mcp", "serve", "--recipe", "debug", *options], cwd=bench.workspace, env=bench.bn.env
        )
        self._last = 0
        self.hello = self.initialize()

    def begin(self, tool: str, /, **arguments: Any) -> int:
        """Calls a tool without waiting for the answer."""
        self._last += 1
        self.send(call(self._last, tool, **arguments))
        return self._last

    def result(self, number: int) -> Message:
        """What a tool answered, which is text and structure alike."""
        early = next((one for one in self.seen if one.get("id") == number and "method" not in one), None)
        answer = early or self.answer(number)
        assert "result" in answer, (answer, self.said)
        found: Message = answer["result"]
        return found

    def has_answered(self, number: int) -> bool:
        """Whether the answer is there; does not wait for it."""
        while self._has_more():
            self.seen.append(self.read())
        return any(one.get("id") == number and "method" not in one for one in self.seen)

    def _has_more(self) -> bool:
        assert self.process.stdout is not None
        return bool(self._unread) or bool(select.select([self.process.stdout], [], [], 0)[0])

    def tool(self, tool: str, /, **arguments: Any) -> Message:
        return self.result(self.begin(tool, **arguments))

    def data(self, tool: str, /, **arguments: Any) -> Any:
        """What a call returns that must succeed."""
        found = self.tool(tool, **arguments)
        assert not found["isError"], found["content"]
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]["data"]
        return found["structuredContent"]["data"]

    def error(self, tool: str, /, **arguments: Any) -> Message:
        """The error of a call that must fail; it is readable in the text, too."""
        found = self.tool(tool, **arguments)
        assert found["isError"], found
        error: Message = found["structuredContent"]["error"]
        assert found["content"][0]["text"].startswith(f"[{error['code']}] {error['message']}")
        return error

    def tools(self) -> dict[str, Message]:
        """What the session offers, by name."""
        self._last += 1
        answer = self.ask(request(self._last, "tools/list"))
        return {one["name"]: one for one in answer["result"]["tools"]}

    def cancel(self, number: Any) -> None:
        self.send(cancelled(number))


class Bench:
    """A workspace with programs in it, and everybody who works on them."""

    def __init__(self, bn: Bn) -> None:
        self.mark = uuid.uuid4().hex
        self.bn = Bn(
            bn.repo,
            bn.env
            | {"STAGE": self.mark, "BN_PASS_ENV": "STAGE", "VIRTUAL_ENV": sys.prefix, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.stage = Stage(None, str(bn.repo), self.mark)  # type: ignore[arg-type]  # it runs no commands here
        self.workspace: Path = bn.repo
        self.write("shop.py", SHOP)
        self.write("endless.py", ENDLESS)

    def write(self, name: str, text: str) -> Path:
        path = self.workspace / name
        path.write_text(text)
        return path

    def agent(self, *options: str) -> Agent:
        return Agent(self, *options)

    def host(self) -> int:
        """The process of the host."""
        return int(json.loads((self.workspace / ".vsc-bridge" / "host.json").read_text())["pid"])

    def jobs(self) -> list[str]:
        """What is left in the directories of jobs."""
        folders = [self.workspace / ".vsc-bridge" / name for name in ("prepared", "execute")]
        return sorted(name for folder in folders if folder.exists() for name in os.listdir(folder))

    def programs(self) -> list[int]:
        """Everyone who runs Python for the debugger: adapters, launchers, programs."""
        return [pid for pid in self.stage.processes() if "debugpy" in command_of(pid)]

    def stop(self) -> None:
        self.bn.run("bridge", "stop")


@contextmanager
def bench(bn: Bn) -> Iterator[Bench]:
    """A workspace of which nothing is left in the end: no process, no job, no lock."""
    made = Bench(bn)
    try:
        yield made
    finally:
        made.stop()
    wait_until(lambda: not made.stage.processes(), lambda: f"left: {list(map(command_of, made.stage.processes()))}")
    assert made.jobs() == []
    left = os.listdir(made.workspace / ".vsc-bridge") if (made.workspace / ".vsc-bridge").exists() else []
    assert not {"host.lock", "host.json"} & set(left)


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def wait_until(holds: Callable[[], Any], otherwise: Callable[[], str] = lambda: "it does not happen") -> None:
    """Looks until something is so that nobody tells of."""
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, otherwise()
        time.sleep(0.005)
