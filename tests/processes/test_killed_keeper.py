"""A keeper that is killed, stopped or told to end takes its programs along, and a new one takes its place."""

import asyncio
import os
import select
import signal

import pytest

from binnacle.processes import keeper as module
from binnacle.processes.keeper import Keeper
from passthrough.stage import PATIENCE, is_alive
from processes.ground import TOY

BREEDS = ["plain", "session", "daemon", "deaf"]


@pytest.mark.parametrize("breed", BREEDS)
def test_a_killed_keeper_leaves_nobody_and_everyone_is_told(ground, breed):
    async def kill():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "breed", breed, "hang")
            other = await ground.start(keeper, *TOY, "hang", "deaf")
            (pid,) = await program.wait_for("bred")
            await other.wait_for("hanging")
            waiting = asyncio.create_task(program.owned.wait())
            os.kill(keeper._link.pid, signal.SIGKILL)
            codes = await waiting, await other.owned.wait(), await other.owned.end()
            assert not any(map(is_alive, (pid, program.owned.pid, other.owned.pid)))
            again = await ground.start(keeper, "sh", "-c", "exit 4")
            return codes, await again.owned.wait()

    assert ground.run(kill()) == ((-signal.SIGKILL,) * 3, 4)


def test_a_program_can_be_started_at_once_when_the_keeper_was_killed(ground):
    async def kill():
        async with Keeper() as keeper:
            for number in range(5):
                program = await ground.start(keeper, "sh", "-c", f"exit {number}")
                assert await program.owned.wait() == number
                os.kill(keeper._link.pid, signal.SIGKILL)

    ground.run(kill())


def test_a_keeper_killed_while_it_starts_programs_is_replaced(ground):
    async def kill():
        async with Keeper() as keeper:
            starting = [asyncio.create_task(ground.start(keeper, *TOY, "hang")) for _ in range(10)]
            await asyncio.wait(starting, return_when=asyncio.FIRST_COMPLETED)
            os.kill(keeper._link.pid, signal.SIGKILL)
            programs = await asyncio.gather(*starting)
        return [await program.owned.wait() for program in programs]

    assert {*ground.run(kill())} <= {-signal.SIGKILL, -signal.SIGTERM}


def kill_in_a_talk(link):
    """Has the loop find both at once: what the keeper says, and that it died with a request in its socket."""
    assert select.select([link._connection], [], [], PATIENCE)[0]
    os.kill(link.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, link.pid, os.WSTOPPED | os.WNOWAIT)
    link.send("end", 0, 0.0)
    os.kill(link.pid, signal.SIGKILL)
    os.waitid(os.P_PID, link.pid, os.WEXITED | os.WNOWAIT)


def test_a_keeper_killed_with_something_said_and_something_unheard_is_replaced(ground):
    async def kill():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "hang")
            await program.wait_for("hanging")
            link = keeper._link
            os.kill(program.owned.pid, signal.SIGTERM)
            kill_in_a_talk(link)
            await link.gone
            again = await ground.start(keeper, "true")
            return await program.owned.wait(), await again.owned.wait()

    assert ground.run(kill()) == (-signal.SIGTERM, 0)


def test_a_stopped_keeper_is_replaced_when_it_does_not_answer(ground, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_TIMEOUT_SECONDS", 0.2)

    async def stop():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "breed", "daemon", "hang")
            (pid,) = await program.wait_for("bred")
            os.kill(keeper._link.pid, signal.SIGSTOP)
            code = await program.owned.end(grace=0.1)
            again = await ground.start(keeper, "true")
            return code, is_alive(pid), await again.owned.wait()

    assert ground.run(stop()) == (-signal.SIGKILL, False, 0)


def test_leaving_does_not_wait_for_a_stopped_keeper(ground, monkeypatch):
    monkeypatch.setattr(module, "CLOSE_TIMEOUT_SECONDS", 0.2)

    async def leave():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "breed", "daemon", "hang")
            (pid,) = await program.wait_for("bred")
            os.kill(keeper._link.pid, signal.SIGSTOP)
        return is_alive(pid), program.owned.returncode

    assert ground.run(leave()) == (False, -signal.SIGKILL)


def test_a_keeper_that_is_told_to_end_ends_its_programs_in_order(ground, tmp_path):
    async def tell():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "polite", str(tmp_path / "note"))
            await program.wait_for("hanging")
            os.kill(keeper._link.pid, signal.SIGTERM)
            code = await program.owned.wait()
            again = await ground.start(keeper, "true")
            return code, await again.owned.wait()

    assert ground.run(tell()) == (0, 0)
    assert (tmp_path / "note").read_text() == "bye"
