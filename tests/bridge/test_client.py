"""A call through files: it is answered, or says soon why not, and leaves nothing behind."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

import pytest

from binnacle.bridge.client.bridge_client import BridgeClient
from binnacle.bridge.client.host_starter import start_host
from binnacle.bridge.jobs import folder_watcher, job_files
from binnacle.bridge.jobs.protocol import BridgeError
from bridge.serving import host_process, jobs, loop, run, serving, until

TEST_HOST = [sys.executable, "-c", "from bridge.serving import main; main()"]


@pytest.fixture(params=["asyncio", "uvloop"], autouse=True)
def _loop(request):
    token = loop.set(request.param)
    yield
    loop.reset(token)


async def start_test_host(workspace):
    return await start_host(workspace, [*TEST_HOST, workspace])


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Starts hosts as processes, which are ended after the test."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    yield start_test_host
    if host := job_files.read_host(str(tmp_path)):
        end(host.pid)


def end(pid):
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.mark.parametrize("polls", [False, True])
def test_a_call_is_answered_and_its_job_taken_away(tmp_path, polls):
    async def main():
        async with serving(tmp_path):
            client = BridgeClient(str(tmp_path), polls=polls)
            for number in range(20):
                assert await client.call("echo", {"n": number}, timeout=10) == {"n": number}
            assert jobs(tmp_path) == []
            client.close()

    run(main())


def test_where_the_system_tells_of_nothing_both_sides_look(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_watcher, "_open_inotify", lambda: None)

    async def main():
        async with serving(tmp_path) as host:
            client = BridgeClient(str(tmp_path))
            assert await client.call("echo", {"a": 1}, timeout=10) == {"a": 1}
            cancelled = asyncio.Event()
            call = asyncio.create_task(
                client.call("wait", {}, timeout=60, on_event=lambda _: cancelled.set(), cancelled=cancelled)
            )
            with pytest.raises(BridgeError, match="was cancelled"):
                await call
            await until(lambda: not host._tasks)
            assert client._exchange._watcher.is_polling
            assert host._watcher.is_polling
            assert jobs(tmp_path) == []
            client.close()

    run(main())


def test_many_calls_at_once_each_get_their_own_answer(tmp_path):
    async def main():
        async with serving(tmp_path, capacity=200):
            client = BridgeClient(str(tmp_path))
            answers = await asyncio.gather(*(client.call("echo", {"n": n}, timeout=20) for n in range(100)))
            assert answers == [{"n": n} for n in range(100)]
            assert jobs(tmp_path) == []
            client.close()

    run(main())


def test_events_come_while_the_script_runs(tmp_path):
    async def main():
        async with serving(tmp_path):
            client = BridgeClient(str(tmp_path))
            seen = []
            await client.call("told", {}, timeout=10, on_event=seen.append)
            assert [(event.pct, event.text) for event in seen] == [(0, "step 0"), (50, "step 1"), (100, "step 2")]
            client.close()

    run(main())


def test_a_large_answer_comes_whole(tmp_path):
    async def main():
        async with serving(tmp_path):
            client = BridgeClient(str(tmp_path))
            answer = await client.call("large", {"size": 3_000_000}, timeout=20)
            assert len(answer["text"]) == 3_000_000
            client.close()

    run(main())


def test_without_a_host_there_is_an_error_with_the_next_step(tmp_path):
    async def main():
        client = BridgeClient(str(tmp_path))
        with pytest.raises(BridgeError) as caught:
            await client.call("echo", {}, timeout=10)
        assert caught.value.code == "E_BRIDGE_NOT_FOUND"
        assert "bn bridge host" in caught.value.hint

    run(main())


def test_a_script_that_takes_too_long_is_given_up(tmp_path):
    async def main():
        async with serving(tmp_path) as host:
            client = BridgeClient(str(tmp_path))
            with pytest.raises(BridgeError) as caught:
                await client.call("wait", {}, timeout=0.1)
            assert caught.value.code == "E_TIMEOUT"
            assert jobs(tmp_path) == []
            await until(lambda: not host._tasks)
            client.close()

    run(main())


@pytest.mark.parametrize("how", ["event", "task"])
def test_a_cancelled_call_leaves_nothing(tmp_path, how):
    async def main():
        async with serving(tmp_path) as host:
            client = BridgeClient(str(tmp_path))
            began, cancelled = asyncio.Event(), asyncio.Event()
            call = asyncio.create_task(
                client.call("wait", {}, timeout=60, on_event=lambda _: began.set(), cancelled=cancelled)
            )
            await began.wait()
            if how == "event":
                cancelled.set()
                with pytest.raises(BridgeError) as caught:
                    await call
                assert caught.value.code == "E_CANCELLED"
            else:
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            assert jobs(tmp_path) == []
            await until(lambda: not host._tasks)
            client.close()

    run(main())


def test_a_host_that_dies_in_a_call_is_noticed(tmp_path):
    async def main():
        client = BridgeClient(str(tmp_path))
        with host_process(tmp_path) as process:
            assert await client.call("echo", {"a": 1}, timeout=20) == {"a": 1}
            with pytest.raises(BridgeError) as caught:
                await client.call("die", {}, timeout=60)
            assert caught.value.code == "E_HOST_DOWN"
            assert caught.value.hint
            assert jobs(tmp_path) == []
            process.wait()
        with pytest.raises(BridgeError) as caught:
            await client.call("echo", {}, timeout=20)
        assert caught.value.code == "E_BRIDGE_NOT_FOUND"
        client.close()

    run(main())


def test_a_host_that_hangs_is_not_waited_for(tmp_path):
    async def main():
        client = BridgeClient(str(tmp_path))
        with host_process(tmp_path) as process:
            await client.find_host()
            os.kill(process.pid, signal.SIGSTOP)
            with pytest.raises(BridgeError) as caught:
                await client.call("echo", {}, timeout=60)
            assert caught.value.code == "E_PICKUP_TIMEOUT"
            assert jobs(tmp_path) == []
            os.kill(process.pid, signal.SIGCONT)
            assert await client.call("echo", {"a": 1}, timeout=20) == {"a": 1}
        client.close()

    run(main())


@pytest.mark.parametrize("polls", [False, True])
def test_a_host_that_gets_stuck_over_a_job_is_noticed(tmp_path, polls):
    async def main():
        client = BridgeClient(str(tmp_path), polls=polls)
        with host_process(tmp_path) as process:
            began = []
            calls = [asyncio.create_task(client.call("wait", {}, timeout=60, on_event=began.append)) for _ in "ab"]
            await until(lambda: len(began) == 2)
            os.kill(process.pid, signal.SIGSTOP)
            for call in calls:
                with pytest.raises(BridgeError) as caught:
                    await call
                assert caught.value.code == "E_HOST_UNRESPONSIVE"
                assert "bn bridge stop" in caught.value.hint
            assert jobs(tmp_path) == []
            os.kill(process.pid, signal.SIGCONT)
            assert await client.call("echo", {"a": 1}, timeout=20) == {"a": 1}
        client.close()

    run(main())


def test_a_host_that_answers_is_left_alone_however_long_a_job_takes(tmp_path):
    async def main():
        async with serving(tmp_path):
            client = BridgeClient(str(tmp_path))
            pings = []

            async def counted(vigil, ask=client._ask):
                await ask(vigil)
                pings.append(vigil)

            client._ask = counted
            call = asyncio.create_task(client.call("wait", {}, timeout=60))
            await until(lambda: len(pings) == 3)
            assert not call.done()
            call.cancel()
            await asyncio.wait([call])
            assert jobs(tmp_path) == []
            client.close()

    run(main())


def test_a_host_that_stays_stuck_is_replaced_by_the_next_call(tmp_path, start):
    async def main():
        client = BridgeClient(str(tmp_path), start=start)
        first = await client.find_host()
        os.kill(first.pid, signal.SIGSTOP)
        with pytest.raises(BridgeError) as caught:
            await client.call("echo", {}, timeout=20)
        assert caught.value.code == "E_PICKUP_TIMEOUT"
        assert "another host takes its place" in caught.value.hint
        assert await client.call("echo", {"a": 1}, timeout=20) == {"a": 1}
        assert job_files.read_host(str(tmp_path)).pid != first.pid
        assert not first.is_alive()
        client.close()

    run(main())


def test_what_a_dead_host_had_not_begun_is_done_by_another(tmp_path, start):
    async def main():
        client = BridgeClient(str(tmp_path), start=start)
        first = await client.find_host()
        os.kill(first.pid, signal.SIGSTOP)
        call = asyncio.create_task(client.call("echo", {"a": 1}, timeout=20))
        await until(lambda: os.listdir(job_files.execute_folder(str(tmp_path))))
        os.kill(first.pid, signal.SIGKILL)
        assert await call == {"a": 1}
        assert jobs(tmp_path) == []
        client.close()

    run(main())


def test_a_host_that_dies_again_and_again_is_not_started_for_a_while(tmp_path, start):
    async def main():
        client = BridgeClient(str(tmp_path), start=start)
        codes = []
        while "E_CIRCUIT_OPEN" not in codes:
            with pytest.raises(BridgeError) as caught:
                await client.call("die", {}, timeout=20)
            codes.append(caught.value.code)
        assert codes[:-1] == ["E_HOST_DOWN"] * 10
        assert 0 < caught.value.details["retryAfter"] <= 60_000
        assert caught.value.retryable
        client.close()

    run(main())


def test_a_host_is_started_by_need_and_again_when_it_died(tmp_path, start):
    async def main():
        client = BridgeClient(str(tmp_path), start=start)
        assert await client.call("echo", {"a": 1}, timeout=20) == {"a": 1}
        first = job_files.read_host(str(tmp_path))
        assert os.getsid(first.pid) == first.pid, "it has a session of its own"
        with pytest.raises(BridgeError, match="ended while it ran die"):
            await client.call("die", {}, timeout=20)
        assert await client.call("echo", {"a": 2}, timeout=20) == {"a": 2}
        assert job_files.read_host(str(tmp_path)).pid != first.pid
        client.close()

    run(main())


def test_of_many_that_need_a_host_one_starts_it(tmp_path, start):
    started = []

    async def counted(workspace):
        host = await start(workspace)
        started.append(host.bridge_id)
        return host

    async def main():
        clients = [BridgeClient(str(tmp_path), start=counted) for _ in range(8)]
        answers = await asyncio.gather(*(one.call("echo", {"n": n}, timeout=25) for n, one in enumerate(clients)))
        assert answers == [{"n": n} for n in range(8)]
        assert len(set(started)) == 1
        log = job_files.read_plain_file(str(tmp_path / ".vsc-bridge" / "host.log"))
        assert log == b"serving\n", "one process was started, and it had nothing to complain of"
        for one in clients:
            one.close()

    run(main())


def test_a_host_that_does_not_start_says_why(tmp_path):
    async def main():
        words = [sys.executable, "-c", "raise SystemExit('no debugger here')"]
        client = BridgeClient(str(tmp_path), start=lambda where: start_host(where, words))
        with pytest.raises(BridgeError, match="no debugger here") as caught:
            await client.call("echo", {}, timeout=20)
        assert caught.value.code == "E_BRIDGE_UNAVAILABLE"
        client.close()

    run(main())


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / ".vsc-bridge").write_text("in the way")

    async def main():
        client = BridgeClient(str(tmp_path), start=lambda where: start_host(where, ["false"]))
        with pytest.raises(BridgeError) as caught:
            await client.call("echo", {}, timeout=20)
        assert caught.value.code == "E_FS_ERROR"

    run(main())


def test_many_calls_leave_nothing(tmp_path):
    async def main():
        async with serving(tmp_path):
            client = BridgeClient(str(tmp_path))
            before = len(os.listdir("/proc/self/fd"))
            for number in range(200):
                assert await client.call("echo", {"n": number}, timeout=10) == {"n": number}
            assert jobs(tmp_path) == []
            watchers = 0 if os.environ.get("BN_PORTABLE") else 1
            assert len(os.listdir("/proc/self/fd")) == before + watchers, "only the watcher's descriptor is new"
            client.close()

    run(main())
