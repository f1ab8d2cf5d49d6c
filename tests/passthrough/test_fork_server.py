"""The fork server: shared, replaceable, never out of date, and gone with its parent."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from binnacle.passthrough import fork_server
from passthrough.conftest import COLD_TOY
from passthrough.stage import Watched, bounded, is_alive, parent_of, skip_in_portable_mode, wait_gone


def guard_of(pid):
    guard = parent_of(int(pid))
    assert guard not in (None, 1, os.getpid())
    return guard


async def family(stage, runner):
    """The process ids of a call, of its guard, and of the fork server."""
    done = await stage.call(runner, "family")
    return [int(pid) for pid in done.stdout.split()]


def test_calls_share_one_fork_server_and_each_has_a_process_of_its_own(stage):
    async def several():
        async with stage.runner() as runner:
            return await asyncio.gather(*(family(stage, runner) for _ in range(20)))

    calls, guards, servers = zip(*bounded(several()), strict=True)
    assert len(set(calls)) == len(set(guards)) == 20
    assert len(set(servers)) == 1


def test_the_fork_server_has_one_thread_and_no_open_files(stage):
    async def look():
        async with stage.runner() as runner:
            *_, server = await family(stage, runner)
            names = [os.readlink(f"/proc/{server}/fd/{fd}") for fd in os.listdir(f"/proc/{server}/fd")]
            return os.listdir(f"/proc/{server}/task"), sorted(name.partition(":")[0] for name in names)

    threads, names = bounded(look())
    assert len(threads) == 1
    assert names == ["/dev/null", "/dev/null", "/dev/null", "socket"]


def test_signals_that_the_parent_ignores_are_not_ignored_in_a_call(stage):
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        assert stage.play("kill", str(int(signal.SIGUSR1))).exit_code == 128 + signal.SIGUSR1
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_call_survives_the_death_of_the_fork_server_and_the_next_has_a_new_one(stage, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def kill_it():
        async with stage.runner() as runner:
            *_, server = await family(stage, runner)
            call = Watched(stage, runner, "wait", str(fifo))
            await call.wait_for("waiting")
            os.kill(server, signal.SIGKILL)
            *_, after = await family(stage, runner)
            await asyncio.to_thread(fifo.write_text, "go on")
            return server, after, await call.task

    server, after, done = bounded(kill_it())
    assert server != after
    assert (done.exit_code, done.stdout) == (0, "waiting\ngo on\n")


def test_a_fork_server_that_does_not_answer_is_replaced(stage, monkeypatch):
    async def stop_it():
        async with stage.runner() as runner:
            *_, server = await family(stage, runner)
            os.kill(server, signal.SIGSTOP)
            with monkeypatch.context() as hurry:
                hurry.setattr(fork_server, "GUARD_TIMEOUT_SECONDS", 0.5)
                calling = asyncio.create_task(family(stage, runner))
                await asyncio.to_thread(wait_gone, [server])
            *_, after = await calling
            return server, after

    server, after = bounded(stop_it())
    assert server != after
    assert not is_alive(server)


def test_a_stopped_fork_server_does_not_hold_up_the_end(stage):
    async def stop_it():
        async with stage.runner() as runner:
            *_, server = await family(stage, runner)
            os.kill(server, signal.SIGSTOP)
            return server

    assert not is_alive(bounded(stop_it()))


@pytest.mark.parametrize("breed", ["plain", "session", "daemon", "deaf"])
def test_a_call_whose_guard_is_killed_ends_with_an_error(stage, breed):
    if breed == "daemon":
        skip_in_portable_mode("a daemon that was only forked shows no mark where processes have no names of ours")

    async def kill_guard():
        async with stage.runner() as runner:
            call = Watched(stage, runner, "breed", breed, "hang")
            (bred,) = await call.wait_for("bred")
            (pid,) = await call.wait_for("hanging")
            os.kill(guard_of(pid), signal.SIGKILL)
            done = await call.task
            return done, is_alive(int(bred)), await stage.call(runner, "say", "next")

    done, alive, after = bounded(kill_guard())
    assert done.exit_code == 128 + signal.SIGKILL
    assert done.stderr.startswith("error: the process that watched over the command was killed")
    assert not alive
    assert after.stdout == "next"


def test_a_stopped_guard_does_not_save_its_call(stage, monkeypatch):
    from binnacle.passthrough import forked_call

    monkeypatch.setattr(forked_call, "END_TIMEOUT_SECONDS", 0.2)

    async def stop_guard():
        async with stage.runner(grace=0.1) as runner:
            call = Watched(stage, runner, "hang")
            (pid,) = await call.wait_for("hanging")
            os.kill(guard_of(pid), signal.SIGSTOP)
            call.task.cancel()
            await asyncio.wait([call.task])
            return int(pid)

    assert not is_alive(bounded(stop_guard()))


@pytest.mark.linux_only("only Linux signals a process when its parent was killed")
def test_guard_and_server_killed_together_leave_nobody(stage):
    async def kill_both():
        async with stage.runner() as runner:
            *_, server = await family(stage, runner)
            call = Watched(stage, runner, "breed", "daemon", "hang")
            (bred,) = await call.wait_for("bred")
            (pid,) = await call.wait_for("hanging")
            guard = guard_of(pid)
            os.kill(server, signal.SIGKILL)
            os.kill(guard, signal.SIGKILL)
            return await call.task, is_alive(int(bred)), await stage.call(runner, "say", "next")

    done, alive, after = bounded(kill_both())
    assert done.exit_code == 128 + signal.SIGKILL
    assert not alive
    assert after.stdout == "next"


@pytest.mark.parametrize(
    "function", ["no_such_module:main", "passthrough.toy:no_such_function", "passthrough.broken:main"]
)
def test_a_command_that_the_fork_server_cannot_load_runs_cold(stage, function):
    stage.command = COLD_TOY._replace(function=function)
    assert stage.play("say", "cold").stdout == "cold"


def test_a_preload_that_is_not_installed_is_not_missed(stage):
    stage.command = stage.command._replace(preload=("no_such_module", "json.tool"))

    async def one():
        async with stage.runner() as runner:
            return await family(stage, runner)

    assert len(bounded(one())) == 3


def test_what_an_import_prints_is_not_said_by_every_call(stage):
    stage.command = stage.command._replace(preload=("passthrough.noisy",))
    assert stage.play("say", "quiet").stdout == "quiet"


def test_running_out_of_descriptors_is_an_answer_and_passes(stage):
    stage.command = COLD_TOY

    async def starve():
        async with stage.runner() as runner:
            await stage.call(runner, "say", "x")
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), limits[1]))
            try:
                starved = await stage.call(runner, "say", "x")
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            return starved, await stage.call(runner, "say", "fed")

    starved, fed = bounded(starve())
    assert (starved.exit_code, starved.stderr) == (126, "error: cannot run toy: Too many open files\n")
    assert fed.stdout == "fed"


def test_a_caller_that_gives_up_early_does_not_cost_the_others_their_server(stage):
    async def impatient():
        async with stage.runner() as runner:
            hasty = await stage.call(runner, "say", "x", timeout=0.001)
            return hasty, await family(stage, runner)

    hasty, patient = bounded(impatient())
    assert hasty.timed_out
    assert len(patient) == 3


def test_start_has_the_server_ready_before_the_first_call(stage):
    async def started():
        async with stage.runner() as runner:
            await runner.start()
            server = stage.processes()
            *_, used = await family(stage, runner)
            return server, used

    server, used = bounded(started())
    assert server == [used]


def test_leaving_a_runner_while_its_server_starts_leaves_nothing(stage):
    async def leave():
        async with stage.runner() as runner:
            call = asyncio.create_task(stage.call(runner, "say", "x"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return await call

    assert bounded(leave()).exit_code in (0, 126)


PARENT = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from binnacle.passthrough.command_runner import CommandRunner
from passthrough.conftest import WARM_TOY

async def main():
    async with CommandRunner(WARM_TOY, grace=0.1) as runner:
        tell = lambda stream, text: print(text, end="", flush=True)
        await runner.run(["breed", sys.argv[2], "hang"], cwd="/", env=dict(os.environ), timeout=3600, on_output=tell)

asyncio.run(main())
"""


@pytest.mark.parametrize("breed", ["plain", "session", "daemon", "deaf", "stranger"])
def test_everything_ends_when_the_parent_is_killed(stage, breed):
    path = str(Path(__file__).parents[1])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, path, breed],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | stage.env,
    )
    with parent:
        bred = int(parent.stdout.readline().split()[1])
        assert parent.stdout.readline().startswith("hanging")
        others = [pid for pid in stage.processes() if pid != parent.pid]
        assert len(others) >= 3
        parent.kill()
        wait_gone([*others, bred])
    assert not is_alive(bred)
