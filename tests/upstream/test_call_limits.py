"""A server gets no more calls than it may have; the others wait their turn, and not for ever."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binnacle.errors import UpstreamBusy
from binnacle.upstream.toolsets.limited import CallGate

BOUND = 30


def run(main) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(BOUND):
            await main()

    asyncio.run(bounded())


async def settle() -> None:
    """Lets every task go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Calls:
    """Calls through a gate that end when they are told to."""

    def __init__(self, gate: CallGate) -> None:
        self.gate = gate
        self.passed: list[int] = []
        self.ends: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task] = []

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            self.ends.append(asyncio.Event())
            self.tasks.append(asyncio.create_task(self._call(len(self.tasks))))

    async def _call(self, number: int) -> None:
        async with self.gate:
            self.passed.append(number)
            await self.ends[number].wait()

    async def end(self) -> list:
        for one in self.ends:
            one.set()
        return await asyncio.gather(*self.tasks, return_exceptions=True)


def test_so_many_calls_pass_at_once_and_the_others_in_their_order():
    async def main():
        calls = Calls(CallGate(2))
        calls.add(5)
        await settle()
        assert (calls.passed, calls.gate.running, calls.gate.waiting) == ([0, 1], 2, 3)
        calls.ends[1].set()
        await settle()
        assert calls.passed == [0, 1, 2]
        assert await calls.end() == [None] * 5
        assert calls.passed == [0, 1, 2, 3, 4]
        assert (calls.gate.running, calls.gate.waiting) == (0, 0)

    run(main)


def test_nobody_passes_those_who_wait():
    async def main():
        calls = Calls(CallGate(1))
        calls.add(2)
        await settle()
        calls.ends[0].set()
        await calls.tasks[0]
        calls.add()
        await settle()
        assert calls.passed == [0, 1]
        await calls.end()
        assert calls.passed == [0, 1, 2]

    run(main)


def test_a_full_queue_refuses_at_once():
    async def main():
        calls = Calls(CallGate(1, server="files", queue=2))
        calls.add(4)
        await settle()
        with pytest.raises(UpstreamBusy, match="files is busy: 1 calls are running and 2 are waiting") as caught:
            await calls.tasks[3]
        assert caught.value.retryable
        assert caught.value.code == "E_UPSTREAM_BUSY"
        assert caught.value.hint == "try again in 1 s"
        await calls.end()
        assert calls.passed == [0, 1, 2]

    run(main)


def test_a_wait_ends():
    async def main():
        calls = Calls(CallGate(1, patience=0.02))
        calls.add(2)
        with pytest.raises(UpstreamBusy, match="no turn came"):
            await calls.tasks[1]
        assert calls.gate.waiting == 0
        await calls.end()

    run(main)


def test_a_rate_that_is_used_up_refuses_at_once_and_says_for_how_long():
    async def main():
        gate = CallGate(0, per_minute=3)
        for _ in range(3):
            async with gate:
                pass
        with pytest.raises(UpstreamBusy, match="3 calls a minute are used up") as caught:
            async with gate:
                pass
        assert 50 < caught.value.details["retry_after"] <= 60
        assert (gate.running, gate.waiting) == (0, 0)

    run(main)


def test_a_rate_that_is_used_up_for_a_moment_is_waited_for():
    async def main():
        calls = Calls(CallGate(0, per_minute=2, minute=0.05))
        calls.add(6)
        assert await calls.end() == [None] * 6
        assert calls.passed == [0, 1, 2, 3, 4, 5]

    run(main)


def test_those_who_wait_count_for_how_long_the_next_would():
    async def main():
        calls = Calls(CallGate(0, per_minute=1, minute=BOUND, patience=BOUND * 2.5))
        calls.add(4)
        await settle()
        assert calls.gate.waiting == 2
        with pytest.raises(UpstreamBusy):
            await calls.tasks[3]
        for task in calls.tasks:
            task.cancel()
        await asyncio.gather(*calls.tasks, return_exceptions=True)
        assert (calls.gate.running, calls.gate.waiting) == (0, 0)

    run(main)


def test_a_call_that_failed_makes_room():
    async def main():
        gate = CallGate(1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with gate:
                    raise ZeroDivisionError
        assert gate.running == 0

    run(main)


def test_a_call_that_is_cancelled_while_it_waits_is_passed_over():
    async def main():
        calls = Calls(CallGate(1))
        calls.add(3)
        await settle()
        calls.tasks[1].cancel()
        calls.ends[0].set()
        await settle()
        assert calls.passed == [0, 2]
        await calls.end()

    run(main)


def test_a_call_that_is_cancelled_when_its_turn_has_come_gives_it_to_the_next():
    async def main():
        calls = Calls(CallGate(1, per_minute=3))
        calls.add(3)
        await settle()
        calls.tasks[0].cancel()
        await asyncio.sleep(0)
        assert (calls.passed, calls.gate.running, calls.gate.waiting) == ([0], 1, 1)
        calls.tasks[1].cancel()
        await settle()
        assert calls.passed == [0, 2]
        calls.add()  # the rate has room for it: the second was never made
        await calls.end()
        assert calls.passed == [0, 2, 3]
        assert calls.gate.running == 0

    run(main)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 4))
def test_whoever_is_cancelled_whenever_the_limits_hold_and_nothing_is_left(seed, concurrency, queue):
    choose = random.Random(seed)

    async def main():
        gate = CallGate(concurrency, queue=queue)
        most = 0

        async def call() -> None:
            nonlocal most
            async with gate:
                most = max(most, gate.running)
                for _ in range(choose.randrange(4)):
                    await asyncio.sleep(0)

        tasks = []
        for _ in range(30):
            tasks.append(asyncio.create_task(call()))
            if choose.random() < 0.5:
                choose.choice(tasks).cancel()
            if choose.random() < 0.6:
                await asyncio.sleep(0)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(one is None or isinstance(one, UpstreamBusy | asyncio.CancelledError) for one in ended)
        assert most <= concurrency
        assert (gate.running, gate.waiting) == (0, 0)

    run(main)
