"""However a call ends, all of it ends: on a timeout, a cancel, a closed runner, and when it is done."""

import asyncio
import contextlib
import os

import pytest

from binnacle.passthrough.call_request import make_request
from binnacle.passthrough.capture import CapturedOutput
from binnacle.passthrough.spawned_call import SpawnedCall
from binnacle.processes.keeper import Keeper
from passthrough.conftest import COLD_TOY
from passthrough.stage import Watched, bounded, is_alive, skip_in_portable_mode

SHORT = 0.3
"""Seconds a call gets that is to take too long."""

BREEDS = ["plain", "session", "daemon", "deaf"]


def test_a_call_that_takes_too_long_is_ended(either):
    done = either.play("hang", timeout=3.5)
    assert done.exit_code == 124
    assert done.timed_out
    assert done.stderr == "Command timed out after 3.5 seconds\n"
    assert done.stdout.startswith("hanging")


def test_the_message_of_a_timeout_names_whole_seconds_plainly(either):
    assert either.play("hang", timeout=1).stderr == "Command timed out after 1 seconds\n"


def test_a_call_is_asked_to_end_before_it_is_killed(either, tmp_path):
    async def ask():
        async with either.runner() as runner:
            call = Watched(either, runner, "polite", str(tmp_path / "note"))
            await call.wait_for("hanging")
            call.task.cancel()
            await asyncio.wait([call.task])

    bounded(ask())
    assert (tmp_path / "note").read_text() == "bye"


def test_a_call_that_will_not_listen_is_killed(either):
    done = either.play("hang", "deaf", timeout=1, runner={"grace": 0.1})
    assert (done.exit_code, done.timed_out) == (124, True)


@pytest.mark.parametrize("breed", BREEDS)
def test_a_timeout_ends_every_descendant(either, breed):
    async def until_timeout():
        async with either.runner(grace=0.1) as runner:
            call = Watched(either, runner, "breed", breed, "hang", timeout=3)
            (pid,) = await call.wait_for("bred")
            done = await call.task
            return done, is_alive(int(pid))

    done, alive = bounded(until_timeout())
    assert done.timed_out
    assert not alive


@pytest.mark.parametrize("breed", BREEDS)
def test_a_cancel_ends_every_descendant(either, breed):
    async def until_cancelled():
        async with either.runner(grace=0.1) as runner:
            call = Watched(either, runner, "breed", breed, "hang")
            (pid,) = await call.wait_for("bred")
            call.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call.task
            return is_alive(int(pid))

    assert not bounded(until_cancelled())


@pytest.mark.parametrize("breed", BREEDS)
def test_a_call_that_is_done_leaves_nobody_behind_and_nobody_keeps_it_waiting(either, breed):
    if breed == "daemon" and either.options.get("fork") is not False:
        skip_in_portable_mode("a daemon that was only forked shows no mark, and only Linux lets a guard adopt it")

    async def until_done():
        async with either.runner(grace=0.1) as runner:
            call = Watched(either, runner, "breed", breed, "end")
            (pid,) = await call.wait_for("bred")
            done = await call.task
            return done, is_alive(int(pid))

    done, alive = bounded(until_done())
    assert done.exit_code == 5
    assert not alive


@pytest.mark.parametrize("breed", BREEDS)
def test_leaving_a_runner_ends_the_calls_under_way(either, breed):
    async def leave():
        async with either.runner(grace=0.1) as runner:
            call = Watched(either, runner, "breed", breed, "hang")
            (pid,) = await call.wait_for("bred")
        alive = is_alive(int(pid))
        return await call.task, alive

    done, alive = bounded(leave())
    assert done.exit_code == 128 + 15
    assert not alive


@pytest.mark.linux_only("only Linux lets a guard adopt orphans")
def test_a_descendant_without_mark_name_session_or_parent_is_found_by_its_guard(stage):
    async def all_endings():
        alive = []
        async with stage.runner(grace=0.1) as runner:
            for then, timeout in (("end", 30), ("hang", 1)):
                call = Watched(stage, runner, "breed", "stranger", then, timeout=timeout)
                (pid,) = await call.wait_for("bred")
                await call.task
                alive.append(is_alive(int(pid)))
        return alive

    assert bounded(all_endings()) == [False, False]


def test_cancelling_twice_does_not_save_a_call(either):
    async def cancel_twice():
        async with either.runner(grace=30) as runner:
            call = Watched(either, runner, "hang")
            (pid,) = await call.wait_for("hanging")
            call.task.cancel()
            await asyncio.sleep(0)
            call.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call.task
            return int(pid)

    pid = bounded(cancel_twice())
    assert not is_alive(pid)


def test_a_call_after_the_end_of_a_runner_is_refused_in_an_answer(either):
    async def too_late():
        async with either.runner() as runner:
            await either.call(runner, "say", "in time")
        return await either.call(runner, "say", "late")

    done = bounded(too_late())
    assert (done.exit_code, done.stdout, done.stderr) == (126, "", "error: the server is shutting down\n")


def test_only_so_many_calls_run_at_once_and_the_others_wait_for_their_turn(either, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def crowd():
        async with either.runner(at_once=2) as runner:
            first = [Watched(either, runner, "wait", str(fifo)) for _ in range(2)]
            for call in first:
                await call.wait_for("waiting")
            starved = await either.call(runner, "touch", str(tmp_path / "starved"), timeout=SHORT)
            waiting = asyncio.create_task(either.call(runner, "touch", str(tmp_path / "served")))
            # Nobody reads at first: opened for both, the pipe does not block.
            pipe = os.open(fifo, os.O_RDWR)
            for call in first:
                call.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await call.task
            os.close(pipe)
            return starved, await waiting

    starved, served = bounded(crowd())
    assert (starved.exit_code, starved.timed_out, starved.stderr) == (
        124,
        True,
        f"Command timed out after {SHORT} seconds\n",
    )
    assert not (tmp_path / "starved").exists()
    assert served.exit_code == 0
    assert (tmp_path / "served").exists()


def test_calls_that_wait_for_their_turn_do_not_begin_when_the_runner_is_left(either, tmp_path):
    async def leave():
        async with either.runner(at_once=1) as runner:
            running = Watched(either, runner, "hang")
            await running.wait_for("hanging")
            waiting = asyncio.create_task(either.call(runner, "touch", str(tmp_path / "served")))
            await asyncio.sleep(0)
        return await running.task, await waiting

    running, waiting = bounded(leave())
    assert running.exit_code == 128 + 15
    assert waiting.exit_code == 126
    assert not (tmp_path / "served").exists()


def test_closing_a_call_that_has_just_ended_loses_none_of_its_output(stage):
    """The runner may close in the very moment in which the end of a call is known and its output is still unread."""
    stage.command = COLD_TOY

    async def end_and_close() -> tuple[str, str]:
        request = make_request(["say", "out", "err", "0"], cwd=stage.cwd, env=stage.env)
        async with Keeper() as keeper:
            call = await SpawnedCall.start(keeper, stage.command, request, CapturedOutput(limit=1000), grace=1)
            await call._program.wait()
            await asyncio.gather(call.wait(), call.aclose())
        return call.output.stdout.text(), call.output.stderr.text()

    assert bounded(end_and_close()) == ("out", "err")
