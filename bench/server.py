"""The group `server`: `bn mcp serve` against the smallest servers one can build on the official SDK and on FastMCP.

Theirs have one tool that says its argument again; ours has all of its own, and a store with tasks behind them.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping

from bench.clients import Client, ask, call, use_tool
from bench.commands import turn
from bench.environment import nothing, project
from bench.mcp_peers import FASTMCP, SDK, peer
from bench.measure import Command, Failed, take_readings
from bench.plan import Plan
from bench.report import Result, throughput, timed
from bench.servers import descendants, on_http, on_stdio, resident

START_BUDGET = 1 / 8
"""Of what the official SDK's server takes to its first list of tools."""

CALLS_BUDGET = {"stdio": 10.0, "HTTP": 5.0}
"""Times as many calls a second as FastMCP's echo."""

RUN_BUDGET = 1 / 4
"""Of the same command as a process of its own."""

LIST_BUDGET = 20_000
"""Bytes of a list of tools: it is read by every agent, in every session, and paid for."""

CALLS = 200
"""In one turn."""

MODES = {"one at a time": 1, "16 at once": 16}

BN = "bn mcp serve"

Arguments = Callable[[int], Mapping[str, object]]
"""What a tool is called with, by a number that is never used twice."""


def measure(plan: Plan) -> Iterator[Result]:
    """Start, calls on both transports, commands through `bn_run`, memory and the list of tools."""
    bn = project(plan, plan.sizes[0], suffix="-served")
    serve = _extended(bn, "mcp", "serve")
    echo = {name: peer(plan, name) for name in (SDK, FASTMCP)}
    plan.say("server: start")
    yield from _start(plan, {SDK: echo[SDK], FASTMCP: echo[FASTMCP], BN: serve})
    ids = [task["id"] for task in json.loads(bn("task", "list", "--all", "-n", str(plan.sizes[0])))["tasks"]]
    with on_stdio(serve) as ours, on_stdio(echo[FASTMCP]) as theirs:
        yield from _calls(plan, "stdio", ours.client, theirs.client, ids)
    on_port = _extended(serve, "--http", "127.0.0.1:0", "--no-auth")
    with on_http(on_port) as ours, on_http(_extended(echo[FASTMCP], "--http")) as theirs:
        yield from _calls(plan, "HTTP", ours.client, theirs.client, ids)
    yield from _run(plan)
    yield from _at_rest(bn, {SDK: echo[SDK], FASTMCP: echo[FASTMCP], BN: serve})


def _start(plan: Plan, servers: Mapping[str, Command]) -> Iterator[Result]:
    """From starting the process to holding the list of tools."""

    def begin(command: Command) -> tuple[float]:
        started = time.perf_counter()
        with on_stdio(command) as served:
            ask(served.client, "tools/list")
            return ((time.perf_counter() - started) * 1000,)

    contestants = {name: lambda _, command=command: begin(command) for name, command in servers.items()}
    readings = take_readings(contestants, rounds=plan.rounds, yardstick=turn(nothing(plan)))
    taken = {name: values for name, (values,) in readings.items()}
    for name, values in taken.items():
        reference, limit = (None, None) if name == SDK else (taken[SDK], START_BUDGET if name == BN else None)
        yield timed("start to first tools/list", name, values, reference, of=SDK, limit=limit)


def _calls(plan: Plan, transport: str, ours: Client, theirs: Client, ids: list[str]) -> Iterator[Result]:
    """Reading and adding tasks, against an echo of about as many bytes."""
    tools: dict[str, tuple[Client, str, Arguments]] = {
        "echo": (theirs, "echo", lambda number: {"text": f"mend the login form of part {number}"}),
        "task_get": (ours, "task_get", lambda number: {"id": ids[number % len(ids)]}),
        "task_add": (ours, "task_add", lambda number: {"tasks": [{"title": f"{number} more, on {transport}"}]}),
    }
    for mode, at_once in MODES.items():
        plan.say(f"server: calls on {transport}, {mode}")
        contestants = {
            name: _Caller(client, tool, arguments, at_once) for name, (client, tool, arguments) in tools.items()
        }
        taken = take_readings(contestants, rounds=plan.rounds)
        group = f"calls on {transport}, {mode}"
        for name, (each, middle) in taken.items():
            is_theirs = name == "echo"
            title, of = (f"{FASTMCP}, echo", "") if is_theirs else (f"bn, {name}", FASTMCP)
            yield timed(group, f"{title}, p50", middle, None if is_theirs else taken["echo"][1], of=of)
            reference, least = (None, None) if is_theirs else (taken["echo"][0], CALLS_BUDGET[transport])
            yield throughput(group, f"{title}, throughput", each, reference, of=of, least=least)


class _Caller:
    """A contestant: each turn is a number of calls of one tool."""

    def __init__(self, client: Client, tool: str, arguments: Arguments, at_once: int) -> None:
        self._client, self._tool, self._arguments, self._at_once = client, tool, arguments, at_once

    def __call__(self, turn: int) -> tuple[float, float]:
        """Milliseconds a call takes on average, and those of the median call."""
        numbers = range((turn * len(MODES) + (self._at_once > 1)) * CALLS, (turn * len(MODES) + 3) * CALLS)[:CALLS]
        calls = [call("tools/call", name=self._tool, arguments=self._arguments(number)) for number in numbers]
        exchange = self._client.exchange(calls, at_once=self._at_once)
        exchange.results()
        return exchange.milliseconds()


def _run(plan: Plan) -> Iterator[Result]:
    """`bn ready` through a server that has run a command before, and as a process."""
    plan.say("server: bn_run")
    bn = project(plan, plan.sizes[0])
    repo = bn.argv[-1]
    with on_stdio(_extended(bn, "mcp", "serve")) as served:
        use_tool(served.client, "binnacle-set_agent", path=repo)

        def warm(_: int) -> tuple[float]:
            exchange = served.client.exchange([call("tools/call", name="bn_run", arguments=words)], at_once=1)
            (result,) = exchange.results()
            if result["structuredContent"]["data"]["exit_code"] != 0:
                raise Failed(f"bn_run failed: {json.dumps(result)[:800]}")
            return (exchange.total * 1000,)

        def cold(_: int) -> tuple[float]:
            started = time.perf_counter()
            bn("ready")
            return ((time.perf_counter() - started) * 1000,)

        words = {"args": ["ready"]}
        yardstick = turn(nothing(plan))
        readings = take_readings({"cold": cold, "warm": warm}, rounds=plan.rounds * 3, yardstick=yardstick)
        (process,), (through,) = readings["cold"], readings["warm"]
        yield timed("bn_run", "bn ready, a cold process", process)
        yield timed("bn_run", "bn_run ready, p50", through, process, of="a cold process", limit=RUN_BUDGET)


def _at_rest(bn: Command, servers: Mapping[str, Command]) -> Iterator[Result]:
    """Memory and the size of the list, after the list was asked for and nothing else."""
    floor = 0.0
    for name, command in servers.items():
        with on_stdio(command) as served:
            tools = _all_tools(served.client)
            memory = resident(served.pid)
            floor = floor or memory
            factor, of = (None, "") if name == SDK else (memory / floor, SDK)
            yield Result(group="memory at rest", name=name, value=memory, unit="MB", ratio=factor, of=of)
            if name != BN:
                continue
            size = sum(len(page) for page in tools) / 1000
            kept = f"≤ {LIST_BUDGET // 1000} KB"
            met = size * 1000 <= LIST_BUDGET
            yield Result(group="tools/list", name="default", value=size, unit="KB", budget=kept, met=met)
            use_tool(served.client, "binnacle-set_agent", path=bn.argv[-1])
            use_tool(served.client, "bn_run", args=["ready"])
            total = sum(resident(pid) for pid in (served.pid, *descendants(served.pid)))
            yield Result(group="memory at rest", name=f"{BN} and its fork server", value=total, unit="MB")


def _all_tools(client: Client) -> list[bytes]:
    """Every page of the list, as it came."""
    pages: list[bytes] = []
    cursor: dict[str, object] = {}
    for _ in range(100):
        exchange = client.exchange([call("tools/list", **cursor)], at_once=1)
        pages += exchange.answers
        if (following := exchange.results()[0].get("nextCursor")) is None:
            return pages
        cursor = {"cursor": following}
    raise Failed("the list of tools has no end")


def _extended(command: Command, *more: str) -> Command:
    return command._replace(argv=(*command.argv, *more))
