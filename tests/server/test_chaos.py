"""`bn_run` under timeouts, cancels, kills and disconnects: nothing is left, and no answer is wrong.

`BN_CHAOS_CALLS=10000 pytest --timeout 1200 tests/server/test_chaos.py` makes as many calls as you like, half of them
on each transport. `BN_CHAOS_SEED` makes the choices of a run that failed once more.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest

import cli.conftest
from cli.conftest import Bn
from passthrough.stage import Stage, parent_of
from server.callers import Piped, Posted
from server.clients import WAIT

bn = cli.conftest.bn

WANTED = int(os.environ.get("BN_CHAOS_CALLS", "0"))
CALLS = (WANTED or 400) // 2
"""On each transport."""

SECONDS = None if WANTED else 5
"""How long a test begins new servers by default; a slow machine then makes fewer calls."""

SEED = int(os.environ.get("BN_CHAOS_SEED", "0")) or random.randrange(1, 1 << 32)

PER_SERVER = 100 if WANTED else 40
AT_ONCE = 12
KEEPER_DESCRIPTORS = 2
"""What a server has open to speak with the keeper: a socket, and what tells of its end."""

ENDED = (126, 128 + signal.SIGTERM, 128 + signal.SIGKILL)
"""How a call may end when its server does."""


class Chaos:
    """Makes calls of all kinds, and remembers what went wrong."""

    def __init__(self, bn, transport):
        self.dice = random.Random(SEED)
        self.repo = bn.repo
        self.stage = Stage(None, str(bn.repo), mark=f"{os.getpid()}-{time.monotonic_ns()}")
        self._bn = Bn(bn.repo, bn.env | self.stage.env)
        self.wrong = []
        self.kinds = Counter()
        self.numbers = itertools.count()
        self.titles = {}
        """Of the tasks that were added, by id."""

        self.home = None
        """A handle for calls that work in the repository."""

        self._transport = transport
        self._left = CALLS
        self._until = None if SECONDS is None else time.monotonic() + SECONDS
        self._ending = ""
        self._is_hasty = False

    async def run(self):
        while self._left > 0 and (self._until is None or time.monotonic() < self._until):
            self._ending, self._is_hasty = "", self.dice.random() < 0.3
            with self._transport(self._bn, self.dice, *(["--timeout", "0.5"] if self._is_hasty else [])) as server:
                await self._live(server)
            await self._wait_until(lambda: not self.stage.processes(), "processes are left")

    async def _live(self, server):
        await server.begin()
        self.home = await self.session(server, self.repo)
        await adding(self, server)
        await self._wait_until(lambda: len(self._own_processes()) == 2, "no fork server")
        open_at_first = await self._descriptors_at_rest(server)
        had_keeper = bool(self.keepers())
        share = iter(range(min(PER_SERVER, self._left)))
        await asyncio.gather(*(self._make_calls(server, share) for _ in range(AT_ONCE)))
        await adding(self, server)  # which brings back a fork server that was killed
        await self._wait_until(lambda: len(self._own_processes()) == 2, "more than a server and its fork server")
        await self._wait_until(lambda: len(self.keepers()) <= 1, "more than one keeper")
        may_be_open = open_at_first + (KEEPER_DESCRIPTORS if self.keepers() and not had_keeper else 0)
        await self._wait_until(lambda: descriptors(server) <= may_be_open, "descriptors stay open")
        calls = [asyncio.create_task(self._make_calls(server, range(1))) for _ in range(AT_ONCE)]
        await asyncio.wait(calls, timeout=self.dice.uniform(0, 0.1))
        self._ending = self.dice.choice(server.ENDINGS)
        self.kinds[self._ending] += 1
        server.end(self._ending)
        await asyncio.wait_for(asyncio.gather(*calls), WAIT)
        code = await asyncio.to_thread(server.wait)
        if code != (-signal.SIGKILL if self._ending == "kill" else 0) or server.said or server.unasked:
            self.wrong.append((self._ending, code, server.said, server.unasked))

    def keepers(self):
        """The keeper of calls that are no forks, which comes with the first of them."""
        return [pid for pid in self.stage.processes() if b"keeper_process" in command_of(pid)]

    def _own_processes(self):
        return [pid for pid in self.stage.processes() if b"keeper_process" not in command_of(pid)]

    async def _descriptors_at_rest(self, server):
        """How many it has open when those of the last call are closed, which nobody tells of."""
        looks = []
        for _ in range(20):
            looks.append(descriptors(server))
            await asyncio.sleep(0.01)
        return min(looks)

    async def _make_calls(self, server, share):
        for _ in share:
            self._left -= 1
            kind = self.dice.choice(KINDS)
            self.kinds[kind.__name__] += 1
            await kind(self, server)

    async def _wait_until(self, holds, otherwise):
        end = time.monotonic() + WAIT
        while not holds() and time.monotonic() < end:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
        if not holds():
            self.wrong.append((otherwise, self._ending, self.stage.processes()))

    async def wait_answered(self, asked):
        """Waits for an answer that must come. Who closes its own side alone still gets it."""
        await asyncio.wait([asked])
        if asked.cancelled() and self._ending in ("", "close input"):
            self.wrong.append(("no answer", self._ending))

    def check(self, asked, is_right):
        """Notes an answer that is not right, if there is one. Calls of a hasty or ending server may be ended."""
        if not asked.done() or asked.cancelled():
            return
        result = asked.result().get("result")
        data = result and result["structuredContent"]["data"]
        if not data or json.loads(result["content"][0]["text"]) != data:
            self.wrong.append((asked.result(), self._ending))
            return
        is_ended = (self._is_hasty and data.get("timed_out")) or (self._ending and data["exit_code"] in ENDED)
        if not is_ended and not is_right(data):
            self.wrong.append((data, self._ending))

    def is_task(self, title):
        """What is right where a command tells of one task, which is known from then on."""

        def is_right(data):
            if data["exit_code"] or data["stderr"]:
                return False
            found = json.loads(data["stdout"])
            (task,) = found.get("tasks") or [found["task"]]
            self.titles[task["id"]] = title
            return task["title"] == title

        return is_right

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    async def session(self, server, path):
        """A handle for calls that work in `path`; nothing when the server has ended."""
        asked = server.ask("binnacle-set_agent", path=str(path))
        await asyncio.wait([asked])
        return None if asked.cancelled() else asked.result()["result"]["structuredContent"]["data"]["session"]


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def ask_bn(chaos, server, *words):
    return server.ask("bn_run", args=words, session=chaos.home)


async def adding(chaos, server):
    title = f"task {chaos.dice.random()}"
    asked = ask_bn(chaos, server, "task", "add", title)
    await chaos.wait_answered(asked)
    chaos.check(asked, chaos.is_task(title))


async def reading(chaos, server):
    if not chaos.titles:
        return
    task_id, title = chaos.dice.choice(list(chaos.titles.items()))
    asked = ask_bn(chaos, server, "task", "show", task_id)
    await chaos.wait_answered(asked)
    chaos.check(asked, chaos.is_task(title))


async def given_up(chaos, server):
    """Cancelled, or left by its client, at any moment; unless it is done before."""
    title = f"task {chaos.dice.random()}"
    asked = ask_bn(chaos, server, "task", "add", title)
    await asyncio.wait([asked], timeout=chaos.dice.uniform(0, 0.05))
    await server.give_up(asked)
    chaos.check(asked, chaos.is_task(title))


async def endless(chaos, server):
    """Ends when it has taken too long, or is given up."""
    asked = ask_bn(chaos, server, "log", "--follow")
    await asyncio.wait([asked], timeout=chaos.dice.uniform(0, 1))
    await server.give_up(asked)
    chaos.check(asked, lambda _: False)


async def struck(chaos, server):
    """The process of the call or its guard is killed."""
    folder = chaos.repo / f"at-{next(chaos.numbers)}"
    folder.mkdir()
    session = await chaos.session(server, folder)
    if session is None:
        return
    asked = server.ask("bn_run", args=["log", "--follow"], session=session)
    while not asked.done() and not (found := processes_in(folder)):  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0.01)
    if not asked.done():
        # A call that is no fork has no guard: the keeper started it, together with others.
        others = {server.process.pid, *chaos.keepers()}
        guards = {parent_of(pid) for pid in found} & {*chaos.stage.processes()} - others
        chaos.kill(chaos.dice.choice([*found, *guards]))
    await asyncio.wait([asked])
    chaos.check(asked, lambda data: data["exit_code"] == 128 + signal.SIGKILL)


async def unseated(chaos, server):
    """The fork server is killed, whatever it is doing."""
    for pid in chaos.stage.processes():
        if parent_of(pid) == server.process.pid and b"forked.server" in command_of(pid):
            chaos.kill(pid)
    await adding(chaos, server)


KINDS = [adding] * 6 + [reading] * 6 + [given_up] * 4 + [endless] * 2 + [struck] * 2 + [unseated]


def processes_in(folder):
    """The processes whose current directory is `folder`."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd") == str(folder):
                found.append(int(pid))
    return found


def command_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.mark.timeout(1200 if WANTED else 120)
@pytest.mark.parametrize("transport", [Piped, Posted])
def test_nothing_is_left_and_no_answer_is_wrong(bn, transport):
    print(f"BN_CHAOS_SEED={SEED}")
    chaos = Chaos(bn, transport)
    asyncio.run(chaos.run())
    print(f"{chaos.kinds.total()} calls and endings: {dict(chaos.kinds)}", *chaos.wrong[:20], sep="\n")
    assert chaos.wrong == []
    with contextlib.closing(sqlite3.connect(bn("store", "show")["location"])) as db:
        assert chaos.titles.items() <= dict(db.execute("select id, title from task")).items()
    assert bn("doctor")
