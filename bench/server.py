"""The group `server`: `bn mcp serve` against the smallest servers one can build on the official SDK and on FastMCP.

Theirs have one tool that says its argument again; ours has all of its own, and a store with tasks behind them.
"""

import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from itertools import count

from bench.clients import Client, ask, call, use_tool
from bench.commands import turn
from bench.environment import nothing, project, store_file
from bench.mcp_peers import FASTMCP, SDK, peer
from bench.measure import Command, Failed, take_readings
from bench.plan import Plan
from bench.report import Result, throughput, timed
from bench.servers import Served, cpu_time, descendants, on_http, on_stdio, resident
from bench.sqlite_floor import measure_floor

START_BUDGET = 1 / 8
"""Of what the official SDK's server takes to its first list of tools."""

CALLS_BUDGET = {"stdio": 10.0, "HTTP": 5.0}
"""Times as many calls a second as FastMCP's echo."""

ADD_BUDGET = 2.0
"""Of what the same statements take that are run by the bare `sqlite3` module."""

RUN_BUDGET = 1 / 4
"""Of the same command as a process of its own."""

LIST_BUDGET = 20_000
"""Bytes of a list of tools: it is read by every agent, in every session, and paid for."""

CALLS = 200
"""In one turn."""

SETTLED = 2.0
"""Seconds after which a server has done what it puts off until nobody waits."""

MODES = {"one at a time": 1, "16 at once": 16}

BN = "bn mcp serve"
FLOOR = "the same statements by sqlite3"

Arguments = Callable[[int], Mapping[str, object]]
"""What a tool is called with, by a number that is never used twice."""


def measure(plan: Plan) -> Generator[Result]:
    """Start, calls on both transports, commands through `bn_run`, memory and the list of tools."""
    bn = project(plan, plan.sizes[0], suffix="-served")
    serve = _extended(bn, "mcp", "serve")
    peers = {name: peer(plan, name) for name in (SDK, FASTMCP)}
    ids = [task["id"] for task in json.loads(bn("task", "list", "--all", "-n", str(plan.sizes[0])))["tasks"]]
    yield from _start(plan, serve, peers, ids[0])
    echo = peers[FASTMCP]
    store = store_file(bn)
    with on_stdio(serve) as ours, on_stdio(echo) as theirs:
        yield from _calls(plan, "stdio", ours, theirs, ids, store)
    on_port = _extended(serve, "--http", "127.0.0.1:0", "--no-auth")
    with on_http(on_port) as ours, on_http(_extended(echo, "--http")) as theirs:
        yield from _calls(plan, "HTTP", ours, theirs, ids, store)
    yield from _run(plan)
    yield from _at_rest(plan, bn, {**peers, BN: serve})


def _start(plan: Plan, serve: Command, peers: Mapping[str, Command], task_id: str) -> Iterator[Result]:
    """From starting the process to holding the list of tools, and to the answer of a tool called at once."""

    def begin(command: Command, tool: str, **arguments: object) -> tuple[float, float]:
        started = time.perf_counter()
        with on_stdio(command) as served:
            ask(served.client, "tools/list")
            listed = time.perf_counter()
            use_tool(served.client, tool, **arguments)
            return (listed - started) * 1000, (time.perf_counter() - started) * 1000

    def begin_anew(turn: int) -> tuple[float, float]:
        """Without anything that an earlier start has kept."""
        empty = os.path.join(plan.folder, f"cache-{turn}")
        return begin(serve._replace(env={**serve.env, "XDG_CACHE_HOME": empty}), "task_get", id=task_id)

    plan.say("server: start")
    contestants: dict[str, Callable[[int], Sequence[float]]] = {
        SDK: lambda _: begin(peers[SDK], "echo", text="…"),
        FASTMCP: lambda _: begin(peers[FASTMCP], "echo", text="…"),
        BN: lambda _: begin(serve, "task_get", id=task_id),
        f"{BN}, the first since installed": begin_anew,
    }
    taken = take_readings(contestants, rounds=plan.rounds, yardstick=turn(nothing(plan)))
    for index, group in enumerate(("start to first tools/list", "start to first answer of a tool")):
        for name, values in taken.items():
            reference = None if name == SDK else taken[SDK][index]
            limit = START_BUDGET if name == BN and index == 0 else None
            yield timed(group, name, values[index], reference, of=SDK, limit=limit)


def _calls(
    plan: Plan, transport: str, ours: Served, theirs: Served, ids: Sequence[str], store: str
) -> Iterator[Result]:
    """Reading tasks against an echo, which only answers; adding them against the statements that it takes."""
    numbers = count()
    tools: dict[str, tuple[Served, Arguments]] = {
        "echo": (theirs, lambda number: {"text": f"mend the login form of part {number}"}),
        "task_get": (ours, lambda number: {"id": ids[number % len(ids)]}),
        "task_add": (ours, lambda number: {"tasks": [{"title": f"{number} more, on {transport}"}]}),
    }

    def burst(served: Served, tool: str, arguments: Arguments, at_once: int, _: int) -> tuple[float, ...]:
        """Milliseconds a call takes on average, those of the median call, and what each takes of the processor."""
        calls = [call("tools/call", name=tool, arguments=arguments(next(numbers))) for _ in range(CALLS)]
        before = cpu_time(served.pid)
        exchange = served.client.exchange(calls, at_once=at_once)
        used = cpu_time(served.pid) - before
        exchange.results()
        return (*exchange.milliseconds(), *([used / CALLS] if used else []))

    for mode, at_once in MODES.items():
        group = f"calls on {transport}, {mode}"
        plan.say(f"server: {group}")
        contestants = {
            tool: partial(burst, served, tool, arguments, at_once) for tool, (served, arguments) in tools.items()
        }
        contestants[FLOOR] = partial(_floor, plan, store, at_once)
        taken = take_readings(contestants, rounds=plan.rounds)
        floor, floor_cpu = taken.pop(FLOOR)
        added_each, added_middle, *added_cpu = taken.pop("task_add")
        each, middle, *cpu = taken.pop("echo")
        yield timed(group, f"{FASTMCP}, echo, p50", middle)
        yield from (timed(group, f"{FASTMCP}, echo, CPU", one) for one in cpu)
        yield throughput(group, f"{FASTMCP}, echo, throughput", each)
        for tool, (our_each, our_middle, *our_cpu) in taken.items():
            yield timed(group, f"bn, {tool}, p50", our_middle, middle, of=FASTMCP)
            for one, other in zip(our_cpu, cpu, strict=True):
                yield timed(group, f"bn, {tool}, CPU", one, other, of=FASTMCP)
            name, least = f"bn, {tool}, throughput", CALLS_BUDGET[transport]
            yield throughput(group, name, our_each, each, of=FASTMCP, least=least)
        yield timed(group, f"{FLOOR}, of task_add, each", floor)
        yield timed(group, f"{FLOOR}, of task_add, CPU", floor_cpu)
        yield timed(group, "bn, task_add, p50", added_middle)
        yield from (timed(group, "bn, task_add, CPU", one, floor_cpu, of=FLOOR) for one in added_cpu)
        yield timed(group, "bn, task_add, each", added_each, floor, of=FLOOR, limit=ADD_BUDGET)


def _floor(plan: Plan, store: str, at_once: int, _: int) -> tuple[float, float]:
    return measure_floor(store, plan.folder, calls=CALLS, at_once=at_once)


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


def _at_rest(plan: Plan, bn: Command, servers: Mapping[str, Command]) -> Iterator[Result]:
    """Memory and the size of the list, after the list was asked for and nothing else."""
    plan.say("server: memory at rest")
    memory: dict[str, float] = {}
    for name, command in servers.items():
        with on_stdio(command) as served:
            pages = _all_tools(served.client)
            time.sleep(SETTLED)
            memory[name] = resident(served.pid)
            if name == BN:
                use_tool(served.client, "binnacle-set_agent", path=bn.argv[-1])
                use_tool(served.client, "bn_run", args=["ready"])
                time.sleep(SETTLED)
                family = (served.pid, *descendants(served.pid))
                memory[f"{BN} and its fork server"] = sum(resident(pid) for pid in family)
                size = sum(map(len, pages))
    for name, value in memory.items():
        factor, of = (None, "") if name == SDK else (value / memory[SDK], SDK)
        yield Result(group="memory at rest", name=name, value=value, unit="MB", ratio=factor, of=of)
    budget, met = f"≤ {LIST_BUDGET / 1000:g} KB", size <= LIST_BUDGET
    yield Result(group="bytes of tools/list", name="default", value=size / 1000, unit="KB", budget=budget, met=met)


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
