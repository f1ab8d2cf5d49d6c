"""Every request gets its own answer, or learns that there will be none; nothing stays in the table."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire.pending import PendingRequests, TooManyPending


class Lost(Exception):
    """The conversation is over."""


def converse(test: Callable[[PendingRequests[int, str]], Awaitable[None]], *, max_pending: int = 8) -> list[str]:
    """Runs a test; returns what asyncio complained of by its end."""
    complaints: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
        async with asyncio.timeout(30):
            await test(PendingRequests(max_pending=max_pending))

    asyncio.run(run())
    return complaints


def test_answers_find_their_requests_in_any_order():
    async def test(pending: PendingRequests[int, str]) -> None:
        one, two = pending.add(1), pending.add(2)
        assert pending.resolve(2, "b")
        assert pending.resolve(1, "a")
        assert (await one, await two, len(pending)) == ("a", "b", 0)

    assert converse(test) == []


def test_a_second_answer_or_one_that_nobody_asked_for_finds_nobody():
    async def test(pending: PendingRequests[int, str]) -> None:
        future = pending.add(1)
        assert pending.resolve(1, "first")
        assert not pending.resolve(1, "second")
        assert not pending.fail(1, Lost())
        assert not pending.resolve(7, "unknown")
        assert await future == "first"

    assert converse(test) == []


def test_one_request_can_fail_alone():
    async def test(pending: PendingRequests[int, str]) -> None:
        one, two = pending.add(1), pending.add(2)
        assert pending.fail(1, Lost("too long"))
        with pytest.raises(Lost, match="too long"):
            await one
        assert not two.done()

    assert converse(test) == []


def test_a_request_that_is_given_up_leaves_the_table_and_its_late_answer_finds_nobody():
    async def test(pending: PendingRequests[int, str]) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await pending.add(1)
        asking = asyncio.ensure_future(pending.add(2))
        asking.cancel()
        assert not pending.resolve(2, "as it was cancelled")
        await asyncio.sleep(0)
        assert len(pending) == 0
        again = pending.add(1)
        assert pending.resolve(1, "again")
        assert await again == "again"

    assert converse(test) == []


def test_an_id_can_be_used_again_at_once_after_its_answer():
    async def test(pending: PendingRequests[int, str]) -> None:
        pending.add(1)
        pending.resolve(1, "first")
        second = pending.add(1)
        await asyncio.sleep(0)  # when asyncio tells that the first one is done
        assert pending.resolve(1, "second")
        assert await second == "second"

    assert converse(test) == []


def test_the_end_fails_what_waits_and_what_comes_later_each_with_its_own_error():
    async def test(pending: PendingRequests[int, str]) -> None:
        futures = [pending.add(1), pending.add(2)]
        pending.close(lambda: Lost("it ended"))
        pending.close(lambda: Lost("a later reason"))
        futures.append(pending.add(3))
        errors = [future.exception() for future in futures]
        assert [str(error) for error in errors] == ["it ended"] * 3
        assert len(set(map(id, errors))) == 3
        assert pending.is_closed
        assert len(pending) == 0

    assert converse(test) == []


def test_errors_that_nobody_looks_at_are_no_complaints():
    async def test(pending: PendingRequests[int, str]) -> None:
        pending.add(1)
        pending.add(2)
        pending.fail(1, Lost())
        pending.close(Lost)
        pending.add(3)
        gc.collect()  # asyncio complains of errors that were never seen when their futures are deleted

    assert converse(test) == []


def test_more_than_the_limit_are_refused_until_one_is_answered():
    async def test(pending: PendingRequests[int, str]) -> None:
        pending.add(1)
        with pytest.raises(ValueError, match="waits already"):
            pending.add(1)
        pending.add(2)
        with pytest.raises(TooManyPending):
            pending.add(3)
        pending.resolve(1, "")
        pending.add(3)

    assert converse(test, max_pending=2) == []


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "resolve", "fail", "cancel", "turn"]), st.integers(min_value=0, max_value=3)),
    max_size=30,
)


@given(STEPS)
def test_whatever_happens_in_whatever_order_each_future_ends_once_and_none_is_left(steps):
    async def test(pending: PendingRequests[int, str]) -> None:
        newest: dict[int, asyncio.Future[str]] = {}
        everyone = []
        for step, number in steps:
            match step:
                case "add" if number not in newest or newest[number].done():
                    await asyncio.sleep(0)
                    newest[number] = pending.add(number)
                    everyone.append(newest[number])
                case "resolve":
                    was_waiting = number in newest and not newest[number].done()
                    assert pending.resolve(number, str(number)) == was_waiting
                case "fail":
                    was_waiting = number in newest and not newest[number].done()
                    assert pending.fail(number, Lost()) == was_waiting
                case "cancel" if number in newest:
                    newest[number].cancel()
                case "turn":
                    await asyncio.sleep(0)
        pending.close(Lost)
        assert all(future.done() for future in everyone)
        assert len(pending) == 0

    assert converse(test) == []
