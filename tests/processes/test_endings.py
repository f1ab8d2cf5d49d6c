"""However a program ends, all of it ends, and nobody else."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys

import pytest

from binnacle.processes.keeper import CannotStart, Keeper
from passthrough.stage import PATIENCE, is_alive, wait_gone
from processes import owner
from processes.ground import TOY

BREEDS = ["plain", "session", "daemon", "deaf"]
SHELLS = [
    "{hang} & {hang} & wait",
    "({hang} &) ; {hang}",
    "setsid sh -c '{hang} & exec {hang}'",
    "trap '' TERM; {hang} & while :; do sleep 1; done",
]
"""Wrappers as people write them; every `{hang}` becomes a program that says who it is."""

OWNER = (sys.executable, owner.__file__)


@contextlib.contextmanager
def owning(ground, *argv):
    """A process that owns a program, and the pids in the first two lines said: its own, the keeper's, programs'."""
    process = subprocess.Popen(
        [*OWNER, *argv], stdout=subprocess.PIPE, text=True, cwd=ground.cwd, env={**os.environ, **ground.env}
    )
    try:
        lines = [process.stdout.readline().split() for _ in range(2)]
        yield process, {word: [int(pid) for pid in pids] for word, *pids in lines}
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()


@pytest.mark.parametrize("breed", BREEDS)
def test_ending_a_program_ends_every_descendant(ground, breed):
    async def end():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "breed", breed, "hang")
            (pid,) = await program.wait_for("bred")
            return await program.owned.end(grace=0.1), program.owned.returncode, is_alive(pid)

    code, same, alive = ground.run(end())
    assert code == same
    assert code in (-signal.SIGTERM, -signal.SIGKILL)
    assert not alive


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("how", ["end", "leave"])
def test_nothing_is_left_of_a_wrapper(ground, shell, how):
    command = shell.format(hang=f"{TOY[0]} {TOY[1]} hang")

    async def run():
        async with Keeper() as keeper:
            program = await ground.start(keeper, "sh", "-c", command)
            await program.wait_for("hanging", times=shell.count("{hang}"))
            if how == "end":
                await program.owned.end(grace=0.2)
                assert ground.stage.processes() == [keeper._link.pid]
        assert ground.stage.processes() == []

    ground.run(run())


@pytest.mark.parametrize("breed", [*BREEDS, "stranger"])
def test_leaving_a_keeper_ends_every_descendant(ground, breed):
    async def leave():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "breed", breed, "hang")
            (pid,) = await program.wait_for("bred")
        return is_alive(pid), program.owned.returncode

    alive, code = ground.run(leave())
    assert not alive
    assert code == -signal.SIGTERM


@pytest.mark.parametrize("breed", BREEDS)
def test_a_program_that_has_ended_leaves_nobody_behind(ground, breed):
    async def end_alone():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "breed", breed, "end")
            (pid,) = await program.wait_for("bred")
            return await program.owned.wait(), await program.owned.end(grace=0.1), is_alive(pid)

    assert ground.run(end_alone()) == (5, 5, False)


@pytest.mark.parametrize("breed", [*BREEDS, "stranger"])
def test_the_death_of_the_owner_ends_every_descendant(ground, breed):
    with owning(ground, *TOY, "breed", breed, "hang") as (process, pids):
        process.kill()
        wait_gone([*pids["owner"][1:], *pids["bred"]])


@pytest.mark.linux_only("only Linux signals a process when its parent was killed")
def test_the_death_of_the_owner_and_of_its_keeper_ends_the_program(ground):
    with owning(ground, *TOY, "hang") as (process, pids):
        process.send_signal(signal.SIGSTOP)
        os.kill(pids["owner"][1], signal.SIGKILL)
        process.kill()
        wait_gone(pids["hanging"])


def test_the_descendants_of_one_program_are_not_those_of_another(ground):
    async def end_one():
        async with Keeper() as keeper:
            programs = [await ground.start(keeper, *TOY, "breed", breed, "hang") for breed in BREEDS * 2]
            bred = [(await program.wait_for("bred"))[0] for program in programs]
            for _ in range(len(programs)):
                await programs.pop(0).owned.end(grace=0.1)
                assert not is_alive(bred.pop(0))
                assert all(program.owned.returncode is None for program in programs)
                assert all(is_alive(pid) for pid in bred)

    ground.run(end_one())


def test_a_program_is_asked_to_end_before_it_is_killed(ground, tmp_path):
    async def ask():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "polite", str(tmp_path / "note"))
            await program.wait_for("hanging")
            return await program.owned.end(grace=PATIENCE)

    assert ground.run(ask()) == 0
    assert (tmp_path / "note").read_text() == "bye"


def test_a_child_is_asked_even_if_its_parent_does_not_listen(ground, tmp_path):
    async def ask():
        async with Keeper() as keeper:
            note = tmp_path / "note"
            polite = f"{sys.executable} {TOY[1]} polite {note}"
            # The parent ends only when the child has.
            program = await ground.start(keeper, "sh", "-c", f"trap '' TERM; {polite}; exit 9")
            await program.wait_for("hanging")
            return await program.owned.end(grace=PATIENCE)

    assert ground.run(ask()) == 9
    assert (tmp_path / "note").read_text() == "bye"


def test_a_program_that_will_not_listen_is_killed(ground):
    async def insist():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "hang", "deaf")
            await program.wait_for("hanging")
            return await program.owned.end(grace=0.1)

    assert ground.run(insist()) == -signal.SIGKILL


def test_of_several_who_end_a_program_the_most_impatient_counts(ground):
    async def end_together():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "hang", "deaf")
            await program.wait_for("hanging")
            patient = asyncio.create_task(program.owned.end(grace=3600))
            await asyncio.sleep(0)
            impatient = await program.owned.end(grace=0.1)
            return await patient, impatient, await program.owned.end()

    assert ground.run(end_together()) == (-signal.SIGKILL,) * 3


def test_a_cancelled_end_goes_on(ground):
    async def give_up():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "hang")
            await program.wait_for("hanging")
            ending = asyncio.create_task(program.owned.end(grace=3600))
            await asyncio.sleep(0)
            ending.cancel()
            return await program.owned.wait()

    assert ground.run(give_up()) == -signal.SIGTERM


@pytest.mark.parametrize("turns", [0, 1, 3, 100, 1000])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_cancelled_start_leaves_nothing(ground, turns, is_first):
    async def give_up():
        async with Keeper() as keeper:
            if not is_first:
                await (await ground.start(keeper, "true")).owned.end()
            starting = [asyncio.create_task(ground.start(keeper, *TOY, "breed", "daemon", "hang")) for _ in range(5)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in starting:
                task.cancel()
            await asyncio.wait(starting)
            for task in starting:
                if not task.cancelled():
                    await task.result().owned.end()
            await (await ground.start(keeper, "true")).owned.end()
            if keeper._runs:
                await asyncio.wait([run.gone for run in keeper._runs.values()])
            assert ground.stage.processes() == [keeper._link.pid]

    ground.run(give_up())


@pytest.mark.parametrize("turns", [0, 1, 3, 100, 1000])
def test_leaving_while_programs_start_leaves_nothing(ground, turns):
    async def leave():
        async with Keeper() as keeper:
            starting = [asyncio.create_task(ground.start(keeper, *TOY, "hang")) for _ in range(5)]
            for _ in range(turns):
                await asyncio.sleep(0)
        return await asyncio.gather(*starting, return_exceptions=True), keeper

    results, keeper = ground.run(leave())
    for result in results:
        assert isinstance(result, CannotStart) or result.owned.returncode == -signal.SIGTERM
    assert keeper._runs == {}


def test_fifty_programs_end_together(ground):
    async def crowd():
        async with Keeper() as keeper:
            programs = await asyncio.gather(*(ground.start(keeper, "sleep", "3600") for _ in range(50)))
            half = await asyncio.gather(*(program.owned.end() for program in programs[:25]))
        return half + [await program.owned.wait() for program in programs[25:]]

    assert ground.run(crowd()) == [-signal.SIGTERM] * 50


def test_a_keeper_among_the_programs_of_another_ends_with_all_it_keeps(ground):
    async def nest():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *OWNER, *TOY, "breed", "daemon", "hang")
            inner = [*await program.wait_for("owner"), *await program.wait_for("bred")]
            await program.owned.end()
            return [pid for pid in inner if is_alive(pid)]

    assert ground.run(nest()) == []


def test_what_a_terminal_sends_does_not_reach_the_keeper(ground):
    async def interrupt():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "hang")
            await program.wait_for("hanging")
            assert os.getsid(keeper._link.pid) != os.getsid(0)
            for number in (signal.SIGINT, signal.SIGHUP):
                os.kill(keeper._link.pid, number)
            another = await ground.start(keeper, "true")
            return await another.owned.wait(), program.owned.returncode

    assert ground.run(interrupt()) == (0, None)
