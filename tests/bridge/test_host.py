"""A host takes jobs, answers them, and never stops because of one."""

import asyncio
import json
import os
import time

import msgspec
import pytest

from binnacle.bridge.client.bridge_client import BridgeClient
from binnacle.bridge.host.job_cleanup import remove_stale_jobs
from binnacle.bridge.host.job_host import JobHost
from binnacle.bridge.jobs import job_files, process_identity, proofs, protocol
from binnacle.bridge.jobs.circuit_breaker import CircuitBreaker
from binnacle.bridge.jobs.protocol import BridgeError, JobCommand
from bridge.serving import host_process, jobs, run, script, serving, until


def command(script="echo", **given):
    values = {"client_id": "mcp-server", "id": protocol.new_id(), "created_at": "", "script_name": script}
    return JobCommand(**(values | given))


def key_of(workspace):
    """The key of the host that serves; any where there is none."""
    host = job_files.read_host(str(workspace))
    return proofs.read_key(str(workspace), host.bridge_id) if host else b"no host"


def publish(workspace, one):
    job_files.open_bridge(str(workspace))
    return job_files.publish_job(str(workspace), job_files.prepare_job(str(workspace), one, key_of(workspace)))


def result(workspace, folder):
    return job_files.read_result(str(folder), key_of(workspace))


def is_done(folder):
    return os.path.exists(os.path.join(folder, "done"))


def test_a_host_says_what_it_is_and_leaves_nothing(tmp_path):
    async def main():
        async with serving(tmp_path):
            info = job_files.read_host(str(tmp_path))
            assert (info.pid, info.kind, info.version) == (os.getpid(), "headless", 2)
            assert info.capabilities == {"scripts": ["echo"]}
            assert info.is_alive()
            written = json.loads((tmp_path / ".vsc-bridge" / "host.json").read_text())
            assert {"bridgeId", "version", "platform", "workspace", "pid", "startedAt", "wslAware"} <= set(written)
        left = os.listdir(tmp_path / ".vsc-bridge")
        assert "host.json" not in left
        assert "host.lock" not in left

    run(main())


def test_only_one_host_serves_a_workspace(tmp_path):
    async def main():
        async with serving(tmp_path):
            with pytest.raises(BridgeError) as caught:
                await JobHost(str(tmp_path), "headless", script, {}).serve()
            assert caught.value.code == "E_HOST_EXISTS"
            assert str(os.getpid()) in caught.value.message
            client = BridgeClient(str(tmp_path))
            assert await client.call("echo", {"a": 1}, timeout=10) == {"a": 1}, "the first one is still there"
            client.close()

    run(main())


def test_the_place_of_a_dead_host_is_taken(tmp_path):
    with host_process(tmp_path) as process:
        process.kill()
        process.wait()
        assert os.path.exists(tmp_path / ".vsc-bridge" / "host.lock")

        async def main():
            async with serving(tmp_path) as host:
                assert job_files.read_host(str(tmp_path)).bridge_id == host.info.bridge_id

        run(main())


def test_a_client_that_writes_in_place_is_served_too(tmp_path):
    async def main():
        async with serving(tmp_path):
            folder = tmp_path / ".vsc-bridge" / "execute" / "20260101T000000000Z-0001-abcd"
            folder.mkdir()
            (folder / "command.json").write_text('{"version":1,"clientId":"cli')
            await asyncio.sleep(0)
            written = (
                b'{"version":2,"clientId":"mcp-server","id":"x","createdAt":"","scriptName":"echo","params":{"a":1}}'
            )
            (folder / "command.json").write_bytes(written)
            await asyncio.sleep(0)
            (folder / "proof").write_text(proofs.prove_command(key_of(tmp_path), folder.name, written))
            await until(lambda: is_done(folder))
            assert result(tmp_path, folder) == {"a": 1}
            assert json.loads((folder / "claimed.json").read_text())["pid"] == os.getpid()

    run(main())


def test_a_command_that_is_none_is_answered(tmp_path):
    async def main():
        async with serving(tmp_path):
            folder = tmp_path / ".vsc-bridge" / "execute" / "broken"
            folder.mkdir()
            (folder / "command.json").write_text("nonsense")
            (folder / "proof").write_text(proofs.prove_command(key_of(tmp_path), "broken", b"nonsense"))
            await until(lambda: is_done(folder))
            with pytest.raises(BridgeError) as caught:
                result(tmp_path, folder)
            assert caught.value.code == "E_INVALID_REQUEST"

    run(main())


@pytest.mark.parametrize(
    ("script", "code"),
    [("wrong", "E_NO_SESSION"), ("raises", "E_INTERNAL"), ("strange", "E_INTERNAL"), ("none", "E_SCRIPT_NOT_FOUND")],
)
def test_what_a_script_does_wrong_is_an_answer(tmp_path, script, code):
    async def main():
        async with serving(tmp_path):
            folder = publish(tmp_path, command(script))
            await until(lambda: is_done(folder))
            with pytest.raises(BridgeError) as caught:
                result(tmp_path, folder)
            assert caught.value.code == code

    run(main())


def test_a_hung_script_delays_no_other_and_is_answered_for(tmp_path):
    release = str(tmp_path / "release")

    async def main():
        async with serving(tmp_path):
            hung = publish(tmp_path, command("stubborn", timeout=100, params={"release": release}))
            quick = publish(tmp_path, command())
            await until(lambda: is_done(quick))
            await until(lambda: is_done(hung))
            with pytest.raises(BridgeError) as caught:
                result(tmp_path, hung)
            assert caught.value.code == "E_TIMEOUT"
            with open(release, "w"):
                pass

    run(main())


def test_more_jobs_than_it_can_run_are_refused_but_a_ping_is_answered(tmp_path):
    async def main():
        async with serving(tmp_path, capacity=2):
            waiting = [publish(tmp_path, command("wait")) for _ in range(2)]
            await until(lambda: all(os.path.exists(os.path.join(one, "events.ndjson")) for one in waiting))
            refused = publish(tmp_path, command())
            ping = publish(tmp_path, command(protocol.PING_SCRIPT))
            await until(lambda: is_done(refused) and is_done(ping))
            with pytest.raises(BridgeError) as caught:
                result(tmp_path, refused)
            assert caught.value.code == "E_CAPACITY"
            assert caught.value.retryable
            assert result(tmp_path, ping)["running"] == 2

    run(main())


def test_scripts_that_fail_again_and_again_are_not_run_for_a_while(tmp_path):
    async def main():
        client = BridgeClient(str(tmp_path))
        async with serving(tmp_path) as host:
            codes = []
            for script in ["wrong"] * 12 + ["raises"] * 10 + ["echo"]:
                try:
                    codes.append(await client.call(script, {}, timeout=10))
                except BridgeError as error:
                    codes.append(error.code)
                    told = error
            assert codes == ["E_NO_SESSION"] * 12 + ["E_INTERNAL"] * 10 + ["E_CIRCUIT_OPEN"]
            assert "try again in" in told.hint
            assert await client.ping(host.info) > 0
        client.close()

    run(main())


def test_a_breaker_closes_when_the_failures_are_a_minute_ago():
    clock = iter([*range(10), 10, 59.5, 60.5, 60.5, 60.6])
    breaker = CircuitBreaker("it failed", now=lambda: next(clock))
    for _ in range(10):
        breaker.note_failure()
    for left in (50_000, 500):
        with pytest.raises(BridgeError) as caught:
            breaker.check()
        assert caught.value.details == {"retryAfter": left}
    breaker.check()
    breaker.note_failure()
    with pytest.raises(BridgeError):
        breaker.check()


@pytest.mark.parametrize("how", ["marked", "removed"])
def test_a_cancelled_job_ends(tmp_path, how):
    async def main():
        async with serving(tmp_path) as host:
            folder = publish(tmp_path, command("wait"))
            await until(lambda: os.path.exists(os.path.join(folder, "events.ndjson")))
            if how == "marked":
                job_files.mark_cancelled(folder)
                await until(lambda: is_done(folder))
                with pytest.raises(BridgeError) as caught:
                    result(tmp_path, folder)
                assert caught.value.code == "E_CANCELLED"
            else:
                job_files.remove_job(folder)
                await until(lambda: not host._tasks)
                assert not os.path.exists(folder)

    run(main())


def test_the_job_of_a_client_that_died_ends_and_is_taken_away(tmp_path):
    async def main():
        async with serving(tmp_path) as host:
            process = await asyncio.create_subprocess_exec("sleep", "60")
            one = command(
                "wait",
                client_pid=process.pid,
                client_start=process_identity.process_start(process.pid),
                namespace=process_identity.namespace(),
            )
            folder = publish(tmp_path, one)
            await until(lambda: os.path.exists(os.path.join(folder, "events.ndjson")))
            process.kill()
            await process.wait()
            await until(lambda: not host._tasks)
            assert jobs(tmp_path) == []

    run(main())


def test_jobs_of_a_host_that_ends_are_answered(tmp_path):
    async def main():
        async with serving(tmp_path) as host:
            folder, key = publish(tmp_path, command("wait")), key_of(tmp_path)
            await until(lambda: os.path.exists(os.path.join(folder, "events.ndjson")))
            host.end()
            await until(lambda: is_done(folder))
            with pytest.raises(BridgeError) as caught:
                job_files.read_result(folder, key)
            assert caught.value.code == "E_HOST_DOWN"

    run(main())


def test_what_was_there_before_a_host_is_nothing_to_it(tmp_path):
    with host_process(tmp_path) as process:
        earlier = publish(tmp_path, command("wait"))
        process.kill()
        process.wait()
    stranger = publish(tmp_path, command("echo", params={"a": 1}))

    async def main():
        async with serving(tmp_path):
            assert jobs(tmp_path) == []
            late = publish(tmp_path, command("echo"))
            await until(lambda: is_done(late))
        assert not os.path.exists(earlier)
        assert not os.path.exists(stranger)

    run(main())


@pytest.mark.parametrize("wrong", ["nothing", "another job", "another host", "changed"])
def test_a_job_without_its_proof_is_refused(tmp_path, wrong):
    async def main():
        async with serving(tmp_path):
            key, one = key_of(tmp_path), command("echo")
            written = msgspec.json.encode(one)
            given = {
                "nothing": None,
                "another job": proofs.prove_command(key, "another", written),
                "another host": proofs.prove_command(os.urandom(32), one.id, written),
                "changed": proofs.prove_command(key, one.id, written + b" "),
            }[wrong]
            folder = tmp_path / ".vsc-bridge" / "execute" / one.id
            folder.mkdir()
            (folder / "command.json").write_bytes(written)
            if given is not None:
                (folder / "proof").write_text(given)
            await until(lambda: is_done(folder))
            with pytest.raises(BridgeError) as caught:
                result(tmp_path, folder)
            assert caught.value.code == "E_UNAUTHORIZED"
            assert not (folder / "response.json").exists()

    run(main())


def test_the_key_of_a_host_is_private_and_ends_with_it(tmp_path):
    folder = proofs.keys_folder(str(tmp_path))

    async def main():
        async with serving(tmp_path) as host:
            assert os.listdir(folder) == [host.info.bridge_id]
            file = os.path.join(folder, host.info.bridge_id)
            assert os.stat(file).st_mode & 0o777 == 0o600
            assert not file.startswith(str(tmp_path / ".vsc-bridge"))
            os.chmod(file, 0o644)
            assert job_files.read_host(str(tmp_path)) is None, "a key that others can read proves nothing"
            os.unlink(file)
            await until(lambda: job_files.read_host(str(tmp_path)) is not None)
        assert os.listdir(folder) == []

    run(main())


@pytest.mark.parametrize("changed", ["pid", "kind", "workspace", "namespace", "processStart", "bridgeId"])
def test_a_host_file_that_was_changed_is_none(tmp_path, changed):
    async def main():
        async with serving(tmp_path):
            file = tmp_path / ".vsc-bridge" / "host.json"
            told = json.loads(file.read_text())
            file.write_text(json.dumps(told | {changed: 1 if isinstance(told[changed], int) else "x"}))
            assert job_files.read_host(str(tmp_path)) is None

    run(main())


def test_a_host_ends_when_nobody_needs_it(tmp_path):
    async def main():
        async with serving(tmp_path, idle=0.1):
            await until(lambda: not os.path.exists(tmp_path / ".vsc-bridge" / "host.lock"))

    run(main())


def test_a_host_goes_on_when_its_directory_was_deleted(tmp_path):
    async def main():
        async with serving(tmp_path):
            job_files.remove_job(str(tmp_path / ".vsc-bridge"))
            await until(lambda: job_files.read_host(str(tmp_path)) is not None)
            client = BridgeClient(str(tmp_path))
            assert await client.call("echo", {"a": 1}, timeout=10) == {"a": 1}
            client.close()

    run(main())


def test_a_host_yields_to_the_one_that_has_the_lock(tmp_path):
    async def main():
        async with serving(tmp_path) as host:
            lock = tmp_path / ".vsc-bridge" / "host.lock"
            lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(host.info, bridge_id="extHost-12345678")))
            await until(
                lambda: all(
                    not task.get_coro().__qualname__.startswith("JobHost.serve") for task in asyncio.all_tasks()
                )
            )
            assert lock.exists(), "it is the other's"

    run(main())


def test_the_sweep_takes_what_is_old_and_spares_the_rest(tmp_path):
    dead = f"cli-{2**22 + 1}"
    made = {name: publish(tmp_path, command(client_id=who)) for name, who in (
        ("fresh", "mcp-server"), ("finished", "mcp-server"), ("orphan", dead), ("running", dead),
        ("half gone", "mcp-server"),
    )}  # fmt: skip
    (tmp_path / made["finished"] / "done").touch()
    prepared = job_files.prepare_job(str(tmp_path), command(), b"key")
    ours = {"client_pid": 2**22 + 1, "client_start": 1, "namespace": process_identity.namespace()}
    for wanted in (True, False):
        one = command(**(ours | {"client_pid": os.getpid(), "client_start": 0} if wanted else ours))
        made[f"of ours, {wanted}"] = publish(tmp_path, one)
    begun = job_files.prepare_job(str(tmp_path), command(**ours), b"key")
    os.unlink(os.path.join(made["half gone"], "command.json"))
    unwritten, fresh = (tmp_path / ".vsc-bridge" / "prepared" / name for name in ("unwritten", "fresh"))
    unwritten.mkdir()
    os.utime(unwritten, (time.time() - 10,) * 2)
    fresh.mkdir()
    ages = {
        "finished": 2 * 86400,
        "orphan": 3600,
        "running": 3600,
        "half gone": 10,
    }
    for name, age in ages.items():
        os.utime(made[name], (time.time() - age,) * 2)
    os.utime(prepared, (time.time() - 3600,) * 2)
    assert remove_stale_jobs(str(tmp_path), {os.path.basename(made["running"])}) == 7
    left = {name for name, folder in made.items() if os.path.exists(folder)}
    assert left == {"fresh", "running", "of ours, True"}
    assert not os.path.exists(prepared)
    assert not os.path.exists(begun)
    assert not unwritten.exists()
    assert fresh.exists()
