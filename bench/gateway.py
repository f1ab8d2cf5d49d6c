"""The group `gateway`: a call through us to another MCP server, against a direct one and against other gateways.

Behind each is the same small echo. What a gateway adds is its median latency less that of a direct call to the same
echo, in the same round.
"""

import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any

from bench.clients import Client, HttpClient, call
from bench.gateway_peers import BN, DIRECT, Config, Open, can, installed, opened, spoken_to
from bench.mcp_peers import FASTMCP, FOLDER
from bench.measure import Command, Taken, take_readings
from bench.plan import Plan
from bench.report import Result, throughput, timed
from bench.servers import Served, cpu_time, on_http, resident

ADDED_BUDGET = 1 / 5
"""Of what FastMCP's proxy adds to a call."""

CALLS_BUDGET = 3.0
"""Times as many calls a second as the best of the others."""

START_BUDGET = 1.5
"""Of the start with the slowest server alone, with 20 of them."""

GROWTH_BUDGET = 1.05
"""Of the memory before as many calls as below."""

CALLS = 100
"""In one turn."""

MANY_CALLS = {BN: 20_000}
FEWER = 2_000
"""Calls over which memory may grow; the others, who take longer, get fewer."""

START = 0.5
"""Seconds that a server takes to start, besides those that starting its process takes, when starting is measured."""

GREETING = 1.0
"""Seconds that a server which runs already takes to answer a greeting."""

MODES = {"one at a time": 1, "16 at once": 16}
ECHO = os.path.join(FOLDER, "plain_echo.py")


def measure(plan: Plan) -> Generator[Result]:
    """Calls over each pair of transports, to one server and to 20; starting with 20; memory."""
    others = installed(plan)
    for front in ("stdio", "HTTP"):
        for behind in ("stdio", "HTTP"):
            for number in (1, 20):
                yield from _calls(plan, front, behind, number, others)
    yield from _start(plan, others)
    yield from _memory(plan, others)


def _calls(plan: Plan, front: str, behind: str, number: int, others: Sequence[str]) -> Iterator[Result]:
    servers = "one server" if number == 1 else f"{number} servers"
    title = f"gateway, {front} to {servers} on {behind}"
    plan.say(title)
    with ExitStack() as stack:
        direct, config = stack.enter_context(_echoes(behind, number))
        ways: dict[str, Open] = {DIRECT: Open(direct, ["echo"])}
        for name in (*others, BN):
            if can(name, front, config):
                ways[name] = stack.enter_context(opened(plan, name, front, config))
        for mode, at_once in MODES.items():
            contestants = {name: partial(_burst, way, at_once) for name, way in ways.items()}
            taken = take_readings(contestants, rounds=plan.rounds)
            yield from _results(f"{title}, {mode}", taken, is_single=at_once == 1)


def _burst(way: Open, at_once: int, _: int) -> tuple[float, float, float]:
    """Milliseconds of a call on average, those of the median call, and what each takes of the gateway's processor."""
    calls = [
        call("tools/call", name=way.tools[number % len(way.tools)], arguments={"text": f"part {number}"})
        for number in range(CALLS)
    ]
    _connect_anew(way.served.client)
    before = cpu_time(way.served.pid)
    exchange = way.served.client.exchange(calls, at_once=at_once)
    used = cpu_time(way.served.pid) - before
    exchange.results()
    return (*exchange.milliseconds(), used / CALLS)


def _connect_anew(client: Client) -> None:
    """Not every server keeps a connection while the others have their turns."""
    if isinstance(client, HttpClient):
        for one in client._connections:
            one.socket.close()
        client._connections.clear()


def _results(group: str, taken: Mapping[str, Sequence[Taken]], *, is_single: bool) -> Iterator[Result]:
    direct = taken[DIRECT][1]
    added = {name: _less(values[1], direct) for name, values in taken.items() if name != DIRECT}
    yield timed(group, f"{DIRECT}, p50", direct)
    for name, values in added.items():
        limit = ADDED_BUDGET if name == BN and is_single else None
        reference = added.get(FASTMCP) if name != FASTMCP else None
        yield timed(group, f"{name}, added to p50", values, reference, of=FASTMCP, limit=limit)
    for name in added:
        yield timed(group, f"{name}, CPU", taken[name][2])
    best = min((name for name in added if name != BN), key=lambda name: median(taken[name][0].times))
    for name in taken:
        least = CALLS_BUDGET if name == BN and not is_single else None
        reference = taken[best][0] if name not in (best, DIRECT) else None
        yield throughput(group, f"{name}, throughput", taken[name][0], reference, of=best, least=least)


def _less(taken: Taken, base: Taken) -> Taken:
    """What is taken beyond a base, round by round."""
    return Taken(
        [one - other for one, other in zip(taken.times, base.times, strict=True)],
        [one - other for one, other in zip(taken.paces, base.paces, strict=True)],
    )


@contextmanager
def _echoes(behind: str, number: int) -> Iterator[tuple[Served, Config]]:
    """A direct way to an echo, and echoes for gateways."""
    on_stdio: Config = {f"e{index}": {"command": sys.executable, "args": [ECHO, "stdio"]} for index in range(number)}
    with ExitStack() as stack:
        if behind == "stdio":
            yield stack.enter_context(spoken_to(_echo("stdio"), "stdio")), on_stdio
            return
        direct, *echoes = [stack.enter_context(on_http(_echo("http"))) for _ in range(number + 1)]
        yield direct, {f"e{index}": {"url": _url(one.client)} for index, one in enumerate(echoes)}


def _echo(*words: str) -> Command:
    return Command((sys.executable, ECHO, *words), {"PATH": os.environ["PATH"]}, FOLDER)


def _url(client: Client) -> str:
    assert isinstance(client, HttpClient)
    return client._url.geturl()


def _start(plan: Plan, others: Sequence[str]) -> Iterator[Result]:
    """From starting a gateway to having the tools of all servers.

    Of servers that it starts, and of servers that run already and only have to be waited for: what 20 interpreters
    take of the machine is no merit or fault of a gateway.
    """
    plan.say("gateway: start")
    slow = {"command": sys.executable, "args": [ECHO, "stdio", str(START)]}
    yield from _started(plan, others, f"processes that take {START:g} s", lambda _: slow)
    with on_http(_echo("http", str(GREETING))) as running:
        url = _url(running.client)
        answering = f"servers that answer after {GREETING:g} s"
        yield from _started(plan, others, answering, lambda number: {"url": f"{url}?{number}"})


def _started(
    plan: Plan, others: Sequence[str], what: str, server: Callable[[int], Mapping[str, Any]]
) -> Iterator[Result]:
    def begin(name: str, number: int, _: int) -> tuple[float]:
        servers = {f"e{index}": server(index) for index in range(number)}
        front = "stdio" if can(name, "stdio", servers) else "HTTP"
        started = time.perf_counter()
        with opened(plan, name, front, servers):
            return ((time.perf_counter() - started) * 1000,)

    alone, twenty = f"{BN}, one", {f"e{index}": server(index) for index in range(20)}
    contestants: dict[str, Callable[[int], Sequence[float]]] = {alone: partial(begin, BN, 1)}
    for name in (BN, *others):
        if any(can(name, front, twenty) for front in ("stdio", "HTTP")):
            contestants[f"{name}, 20"] = partial(begin, name, 20)
    taken = take_readings(contestants, rounds=min(plan.rounds, 3))  # FastMCP starts one after the other
    for name, (values,) in taken.items():
        limit = START_BUDGET if name == f"{BN}, 20" else None
        reference = taken[alone][0] if name != alone else None
        yield timed(f"gateway, start with {what}", name, values, reference, of=alone, limit=limit)


def _memory(plan: Plan, others: Sequence[str]) -> Iterator[Result]:
    """What a gateway holds before and after many calls."""
    group = "gateway, memory"
    for name in (BN, *others):
        number = MANY_CALLS.get(name, FEWER)
        plan.say(f"gateway: memory of {name} over {number} calls")
        servers: Config = {"e0": {"command": sys.executable, "args": [ECHO, "stdio"]}}
        front = "HTTP" if not can(name, "stdio", servers) else "stdio"
        with opened(plan, name, front, servers) as way:
            for _ in range(5):
                _burst(way, 16, 0)
            before = resident(way.served.pid)
            for _ in range(number // CALLS):
                _burst(way, 16, 0)
            after = resident(way.served.pid)
        factor = after / before
        budget, met = (f"≤ {GROWTH_BUDGET:g}×", factor <= GROWTH_BUDGET) if name == BN else ("", None)
        yield Result(group=group, name=f"{name}, before", value=before, unit="MB")
        told = f"{name}, after {number} calls"
        yield Result(group=group, name=told, value=after, unit="MB", ratio=factor, of="before", budget=budget, met=met)
