"""Thousands of calls under kills, timeouts, cancels and disconnects: nothing is left, and no answer is wrong.

`BN_CHAOS_CALLS=10000 pytest --timeout 1200 tests/passthrough/test_chaos.py` runs as many as you like.
"""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections import Counter

import pytest

from passthrough.conftest import COLD_TOY
from passthrough.stage import Watched, is_alive, parent_of

WANTED = int(os.environ.get("BN_CHAOS_CALLS", "0"))
CALLS = WANTED or 2500
SECONDS = None if WANTED else 40
"""How long the test goes on by default; a slow machine then gets fewer calls."""

PER_RUNNER = 150
"""Calls until a runner is left, with some of them under way."""

BREEDS = ["plain", "session"] if os.environ.get("BN_PORTABLE") == "1" else ["plain", "session", "daemon"]
"""A daemon that was only forked is found on Linux only."""

AT_ONCE = 20
"""A few more than a runner runs at once."""


class Chaos:
    """Makes calls of all kinds, and remembers what went wrong."""

    def __init__(self, stage, folder):
        self.stage = stage
        self.folder = folder
        self.dice = random.Random(1)
        self.left = CALLS
        self.until = None if SECONDS is None else time.monotonic() + SECONDS
        self.wrong = []
        self.kinds = Counter()
        self.bred = set()
        self.is_leaving = False

    def has_calls_left(self):
        return self.left > 0 and (self.until is None or time.monotonic() < self.until)

    async def run(self):
        while self.has_calls_left():
            self.is_leaving = False
            async with self.stage.runner(grace=0.2) as runner:
                share = iter(range(min(PER_RUNNER, self.left)))
                callers = [asyncio.create_task(self.make_calls(runner, share)) for _ in range(AT_ONCE)]
                saboteur = asyncio.create_task(self.kill_servers(runner))
                await asyncio.wait(callers, return_when=asyncio.FIRST_COMPLETED)
                self.is_leaving = True
            saboteur.cancel()
            await asyncio.gather(*callers)
            await asyncio.wait([saboteur])

    async def make_calls(self, runner, share):
        for _ in share:
            if self.is_leaving or not self.has_calls_left():
                return
            self.left -= 1
            kind = self.dice.choice(KINDS)
            self.kinds[kind.__name__] += 1
            await kind(self, runner)

    async def kill_servers(self, runner):
        """Every now and then, whatever the fork server is doing."""
        while True:
            await asyncio.sleep(self.dice.uniform(0.05, 0.4))
            server = runner._fork_servers._server
            if server is not None and is_alive(server.pid):
                self.kinds["server killed"] += 1
                os.kill(server.pid, signal.SIGKILL)

    def check(self, done, what, *right):
        """Notes an answer that is none of the right ones. Leaving a runner ends calls, or has them not begin."""
        ended = done.exit_code in (126, 128 + signal.SIGTERM, 128 + signal.SIGKILL)
        if what not in right and not (self.is_leaving and ended):
            self.wrong.append((what, right, done))


async def plain(chaos, runner):
    word, code = f"{chaos.dice.random()}", chaos.dice.randrange(100)
    done = await chaos.stage.call(runner, "say", word, word[::-1], str(code))
    chaos.check(done, (done.exit_code, done.stdout, done.stderr), (code, word, word[::-1]))


async def once(chaos, runner):
    """A second start of the same call would fail: the file would be there."""
    path = chaos.folder / f"{chaos.dice.random()}"
    done = await chaos.stage.call(runner, "touch", str(path))
    chaos.check(done, (done.exit_code, path.exists()), (0, True))


async def loud(chaos, runner):
    out, err = chaos.dice.randrange(300_000), chaos.dice.randrange(300_000)
    done = await chaos.stage.call(runner, "spam", str(out), str(err))
    chaos.check(done, (done.exit_code, len(done.stdout), len(done.stderr)), (3, out, err))


async def crashing(chaos, runner):
    habit, code = chaos.dice.choice([(["crash"], 139), (["vanish", "7"], 7), (["exit", "raise", "x"], 1)])
    done = await chaos.stage.call(runner, *habit)
    chaos.check(done, done.exit_code, code)


async def slow(chaos, runner):
    """Takes too long, whether it has begun by then or not."""
    done = await chaos.stage.call(runner, "hang", timeout=chaos.dice.uniform(0.001, 0.1))
    chaos.check(done, (done.exit_code, done.timed_out), (124, True))


async def given_up(chaos, runner):
    """Cancelled at any moment, even twice, unless it is done before."""
    call = asyncio.create_task(chaos.stage.call(runner, "say", "x"))
    await asyncio.wait([call], timeout=chaos.dice.uniform(0, 0.03))
    for _ in range(chaos.dice.choice([1, 2])):
        call.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([call])
    if not call.cancelled():
        chaos.check(call.result(), (call.result().exit_code, call.result().stdout), (0, "x"))


async def fertile(chaos, runner):
    """Has descendants, and ends in one way or another."""
    breed = chaos.dice.choice(BREEDS)
    then = chaos.dice.choice(["end", "hang"])
    call = Watched(
        chaos.stage, runner, "breed", breed, then, timeout=chaos.dice.choice([0.3, 60 if then == "end" else 1])
    )
    await asyncio.wait([call.task], timeout=chaos.dice.choice([None, chaos.dice.uniform(0, 0.2)]))
    call.task.cancel()
    await asyncio.wait([call.task])
    chaos.bred |= {int(line.split()[1]) for line in call.said.splitlines() if line.startswith("bred ")}
    if not call.task.cancelled():
        chaos.check(call.task.result(), call.task.result().exit_code, 124, 5)


async def struck(chaos, runner):
    """The process of the call or its guard is killed."""
    call = Watched(chaos.stage, runner, "hang")
    heard = asyncio.create_task(call.wait_for("hanging"))
    await asyncio.wait([heard, call.task], return_when=asyncio.FIRST_COMPLETED)
    if heard.done():
        pid = int(heard.result()[0])
        guard = parent_of(pid)
        number = chaos.dice.choice([signal.SIGKILL, signal.SIGABRT, signal.SIGHUP])
        # A call that is no fork has no guard: the keeper started it, together with others.
        keeper = runner._keeper._link
        if chaos.dice.random() < 0.5 and guard not in (None, keeper and keeper.pid):
            pid, number = guard, signal.SIGKILL
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            chaos.check(await call.task, (await call.task).exit_code, 128 + number)
    heard.cancel()
    await asyncio.wait([heard, call.task])


KINDS = [plain] * 10 + [once] * 4 + [loud, crashing, slow, given_up, given_up, fertile, struck]


@pytest.mark.timeout(1200 if WANTED else 120)
def test_nothing_is_left_and_no_answer_is_wrong(stage, tmp_path):
    stage.command = COLD_TOY
    chaos = Chaos(stage, tmp_path)
    asyncio.run(chaos.run())
    print(f"{CALLS - chaos.left} calls: {dict(chaos.kinds)}")
    assert chaos.wrong == []
    assert [pid for pid in chaos.bred if is_alive(pid)] == []
    assert chaos.kinds["plain"] > 50
