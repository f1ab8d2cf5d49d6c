"""Whoever is killed at whatever moment: the call that waits gets an answer, the next one works, and nothing is left.

`BN_DEBUG_KILLS=50 pytest --timeout 7200 -n 0 -s tests/bridge/test_kills.py` goes through all moments fifty times for
each victim and says how long answers took. `BN_DEBUG_SEED` chooses the moments of a run that failed once more.
"""

import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import pytest

import cli.conftest
from bridge.agent import Agent, Bench, bench, command_of, wait_until

bn = cli.conftest.bn

WANTED = int(os.environ.get("BN_DEBUG_KILLS", "0"))
ROUNDS = WANTED or 1
AT_A_TIME = 7 if WANTED else 2
"""Moments of each round, chosen at random."""

SEED = int(os.environ.get("BN_DEBUG_SEED", "0")) or random.randrange(1, 1 << 32)

LAUNCH = 0.8
"""Seconds in which a program usually stops for the first time."""

LOST = {"E_SESSION_TERMINATED", "E_LAUNCH_FAILED", "E_NO_SESSION"}


class Victim(NamedTuple):
    """Somebody to be killed, or stopped."""

    words: str
    """In its command."""

    codes: set[str]
    """How a call may fail under which it happened. The call may also be over before."""

    signal: int = signal.SIGKILL


VICTIMS = {
    "host": Victim(" bridge host ", {"E_HOST_DOWN", "E_NO_SESSION"}),
    "stuck host": Victim(" bridge host ", {"E_PICKUP_TIMEOUT", "E_HOST_UNRESPONSIVE"}, signal.SIGSTOP),
    "adapter": Victim("fast_debugpy.py", LOST),
    "program": Victim(" --connect ", LOST),
}

Begin = Callable[[], int]
"""Begins a call; 0 for none."""


def taken(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    return lambda: agent.begin("breakpoint_list"), dice.uniform(0, 0.003)


def launching(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    return lambda: agent.begin("debug_start", program="shop.py"), dice.uniform(0, LAUNCH)


def running(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    agent.data("debug_start", program="endless.py", wait=False)
    return lambda: agent.begin("debug_wait_for_hit", timeoutMs=60_000), dice.uniform(0, 0.5)


def paused(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    agent.data("debug_start", program="shop.py")
    return lambda: 0, dice.uniform(0, 0.02)


def evaluating(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    agent.data("debug_start", program="shop.py")
    expression = "__import__('time').sleep(60)"
    return lambda: agent.begin("debug_evaluate", expression=expression, timeoutMs=60_000), dice.uniform(0, 0.2)


def continuing(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    agent.data("debug_start", program="endless.py", stopOnEntry=True)
    return lambda: agent.begin("debug_continue", timeoutMs=60_000), dice.uniform(0, 0.2)


def stopping(agent: Agent, dice: random.Random) -> tuple[Begin, float]:
    agent.data("debug_start", program="shop.py")
    return lambda: agent.begin("debug_stop"), dice.uniform(0, 0.1)


MOMENTS = (taken, launching, running, paused, evaluating, continuing, stopping)


def find(desk: Bench, victim: Victim) -> int | None:
    return next((pid for pid in desk.stage.processes() if victim.words in command_of(pid)), None)


def strike(desk: Bench, agent: Agent, victim: Victim, pid: int | None, number: int) -> float:
    """Kills as soon as there is somebody to be killed, and tells when; 0 if the call is over before."""
    while pid is None:
        if number == 0 or agent.has_answered(number):
            return 0.0
        pid = find(desk, victim)
    struck = time.monotonic()
    try:
        os.kill(pid, victim.signal)
    except ProcessLookupError:
        return 0.0
    return struck


class Watch:
    """How long answers took after a kill."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.codes: dict[tuple[str, str], set[str]] = defaultdict(set)

    def note(self, what: tuple[str, str], seconds: float, found: str) -> None:
        self.answers[what].append(seconds)
        self.codes[what].add(found)

    def report(self) -> None:
        for (victim, moment), seconds in self.answers.items():
            seconds.sort()
            p50, p99 = (round(seconds[int(len(seconds) * part)] * 1000) for part in (0.5, 0.99))
            codes = ", ".join(sorted(self.codes[victim, moment]))
            worst = round(seconds[-1] * 1000)
            print(f"{victim:10} {moment:10} n={len(seconds):4} p50 {p50:5} p99 {p99:5} max {worst:5} ms  {codes}")


def outcome(result: dict) -> str:
    told = result["structuredContent"]
    return told["error"]["code"] if result["isError"] else told["data"].get("state", "ok")


def check_alive(desk: Bench, agent: Agent) -> None:
    """The next call works, and a program can be debugged."""
    told = agent.data("debug_start", program="shop.py")
    assert (told["state"], told["frames"][0]["line"]) == ("paused", 4)
    agent.data("debug_stop")
    wait_until(lambda: not desk.programs(), lambda: f"left: {list(map(command_of, desk.programs()))}")
    wait_until(lambda: not desk.jobs(), lambda: f"left: {desk.jobs()}")


@pytest.fixture(scope="module")
def watch():
    found = Watch()
    yield found
    if WANTED:
        found.report()


@pytest.mark.parametrize("name", VICTIMS)
def test_a_kill_is_an_answer_and_the_next_call_works(bn, name, watch):
    print(f"BN_DEBUG_SEED={SEED}")
    dice, victim = random.Random(SEED), VICTIMS[name]
    for _ in range(ROUNDS):
        with bench(bn) as desk, desk.agent() as agent:
            agent.data("breakpoint_set", path="shop.py", line=4)
            for moment in dice.sample(MOMENTS, AT_A_TIME):
                begin, delay = moment(agent, dice)
                pid = find(desk, victim)
                number = begin()
                time.sleep(delay)  # when it comes, not how long something takes
                struck = strike(desk, agent, victim, pid, number)
                result = agent.result(number) if number else agent.tool("debug_evaluate", expression="price")
                found = outcome(result)
                if struck:
                    watch.note((name, moment.__name__), time.monotonic() - struck, found)
                assert not result["isError"] or found in victim.codes, (moment.__name__, delay, result)
                if victim.signal == signal.SIGSTOP:
                    agent.tool("debug_status")  # the call may have been over before: this one is not
                elif found in ("paused", "running"):
                    agent.tool("debug_stop")
                check_alive(desk, agent)


def test_a_killed_client_leaves_nothing_and_the_next_one_works(bn):
    print(f"BN_DEBUG_SEED={SEED}")
    dice = random.Random(SEED)
    with bench(bn) as desk:
        for moment in dice.sample(MOMENTS, AT_A_TIME) * ROUNDS:
            with desk.agent() as agent:
                agent.data("breakpoint_set", path="shop.py", line=4)
                begin, delay = moment(agent, dice)
                begin()
                time.sleep(delay)
                agent.process.kill()
            wait_until(lambda: not desk.jobs(), lambda: f"left: {desk.jobs()}")
            with desk.agent() as another:
                while not another.tool("debug_stop")["isError"]:
                    pass  # what it was debugging goes on without it, for the next one to see
                check_alive(desk, another)
