"""The file protocol, as every host keeps it."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from binnacle.bridge.jobs import job_files, proofs, protocol
from binnacle.bridge.jobs.protocol import JobCommand
from binnacle.bridge.manifest import shipped_scripts
from binnacle.errors import BridgeError
from bridge.conformance.desk import PATIENCE, wait_until
from bridge.serving import until


def publish(desk, name, content):
    """A job of a client that writes it by hand; returns its directory."""
    prepared = desk.workspace / ".vsc-bridge" / "prepared" / name
    prepared.mkdir()
    (prepared / "command.json").write_text(content)
    (prepared / "proof").write_text(proofs.prove_command(desk.key(), name, content.encode()))
    return desk.workspace / job_files.publish_job(str(desk.workspace), str(prepared))


def test_a_host_introduces_itself(desk):
    host = desk.host()
    assert host.kind == desk.kind
    assert host.is_alive()
    assert host.workspace == str(desk.workspace)
    assert host.version == 2
    assert host.proof
    known = {alias for alias, one in shipped_scripts().scripts.items() if desk.kind in one.metadata.hosts}
    assert set(host.capabilities["scripts"]) == known
    answer = desk("bridge.ping")
    assert answer == {"bridgeId": host.bridge_id, "kind": desk.kind, "pid": host.pid, "running": 0}


def test_its_heart_beats(desk):
    file = desk.workspace / ".vsc-bridge" / "host.json"
    before = file.stat().st_mtime_ns
    wait_until(lambda: file.stat().st_mtime_ns > before)


def test_no_second_host_serves_the_workspace(desk):
    from binnacle.project.bridge_host import host_command

    done = subprocess.run(host_command(str(desk.workspace)), capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode
    assert json.loads(done.stderr or done.stdout)["error"]["code"] == "E_HOST_EXISTS"


@pytest.mark.parametrize(
    ("script", "params", "code"),
    [
        ("no.such", {}, "E_SCRIPT_NOT_FOUND"),
        ("breakpoint.set", {"path": "shop.py", "line": "many"}, "E_INVALID_PARAMS"),
        ("breakpoint.set", {}, "E_MISSING_REQUIRED_PARAM"),
        ("debug.evaluate", {}, "E_INVALID_PARAMS"),
    ],
)
def test_what_cannot_be_run_says_why(desk, script, params, code):
    assert desk.fails(code, script, **params).hint


def test_a_command_that_is_none_is_answered(desk):
    folder = publish(desk, "20260101T000000000Z-0001-abcd", "{")
    try:
        wait_until((folder / "done").exists)
        assert json.loads((folder / "error.json").read_text())["error"]["code"] == "E_INVALID_REQUEST"
    finally:
        job_files.remove_job(str(folder))


@pytest.mark.parametrize("proof", ["", "0" * 64])
def test_a_job_without_its_proof_is_refused(desk, proof):
    content = '{"clientId":"cli","id":"x","createdAt":"","scriptName":"bridge.stop"}'
    folder = desk.workspace / ".vsc-bridge" / "execute" / protocol.new_id()
    folder.mkdir()
    try:
        (folder / "command.json").write_text(content)
        if proof:
            (folder / "proof").write_text(proof)
        wait_until((folder / "done").exists)
        assert json.loads((folder / "error.json").read_text())["error"]["code"] == "E_UNAUTHORIZED"
        with pytest.raises(BridgeError) as caught:
            job_files.read_result(str(folder), desk.key())
        assert caught.value.code == "E_UNAUTHORIZED", "the refusal itself is proven"
    finally:
        job_files.remove_job(str(folder))


def test_an_answer_is_whole_and_says_whose_it_is(desk):
    name = protocol.new_id()
    command = {"clientId": f"cli-{os.getpid()}", "id": "anything", "scriptName": "breakpoint.list", "params": {}}
    folder = publish(desk, name, json.dumps(command | {"version": 2, "createdAt": protocol.now_text()}))
    try:
        wait_until((folder / "done").exists)
        answer = json.loads((folder / "response.json").read_text())
        assert answer["ok"] is True
        assert answer["type"] == "success"
        assert answer["data"] == {"breakpoints": [], "count": 0}
        assert answer["meta"]["requestId"] == name, "the directory is what the client waits on"
        assert answer["meta"]["duration"] >= 0
        claim = json.loads((folder / "claimed.json").read_text())
        assert claim["bridgeId"] == desk.host().bridge_id
        assert claim["pid"] == desk.host().pid
    finally:
        job_files.remove_job(str(folder))


def test_a_cancelled_call_is_given_up_and_the_next_one_works(desk):
    desk("debug.start", program="endless.py", wait=False)

    async def cancel():
        given_up = asyncio.Event()
        waiting = asyncio.ensure_future(
            desk.client.call("debug.wait-for-hit", {"timeoutMs": 90_000}, timeout=PATIENCE, cancelled=given_up)
        )
        await until(desk.jobs)
        given_up.set()
        await waiting

    with pytest.raises(BridgeError) as caught:
        desk.run(cancel())
    assert caught.value.code == "E_CANCELLED"
    assert desk("debug.pause")["state"] == "paused"


def test_a_job_that_vanishes_is_given_up(desk):
    desk("debug.start", program="endless.py", wait=False)
    command = JobCommand(
        client_id="cli", id="x", created_at="", script_name="debug.wait-for-hit", params={"timeoutMs": 90_000}
    )
    folder = job_files.publish_job(str(desk.workspace), job_files.prepare_job(str(desk.workspace), command, desk.key()))
    wait_until(lambda: os.path.exists(os.path.join(folder, "claimed.json")))
    job_files.remove_job(folder)
    wait_until(lambda: desk("bridge.ping")["running"] == 0)


def test_the_job_of_a_killed_client_is_cleared_away(desk):
    desk("debug.start", program="endless.py", wait=False)
    run = (
        "import asyncio, sys; from binnacle.bridge.client.bridge_client import BridgeClient\n"
        "async def main():\n"
        "    client = BridgeClient(sys.argv[1])\n"
        "    await client.call('debug.wait-for-hit', {'timeoutMs': 90000}, timeout=90)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", run, str(desk.workspace)]) as client:
        wait_until(lambda: any((desk.workspace / ".vsc-bridge" / "execute").glob("*/claimed.json")))
        client.kill()
    wait_until(lambda: desk.jobs() == [])


def test_many_calls_at_once_are_all_answered(desk):
    async def many():
        return await asyncio.gather(*(desk.ask("breakpoint.list") for _ in range(8)))

    assert desk.run(many()) == [{"breakpoints": [], "count": 0}] * 8
    assert desk.jobs() == []


def test_more_than_ten_at_once_are_too_many(desk):
    desk("debug.start", program="endless.py", wait=False)

    async def many():
        waits = (desk.ask("debug.wait-for-hit", timeoutMs=4000) for _ in range(11))
        return await asyncio.gather(*waits, return_exceptions=True)

    codes = [error.code for error in desk.run(many())]
    assert sorted(set(codes)) == ["E_CAPACITY", "E_TIMEOUT"]
    assert codes.count("E_CAPACITY") == 1


def test_progress_is_told(desk):
    told = []

    async def start():
        return await desk.client.call(
            "debug.start",
            {"program": "shop.py", "timeoutMs": 90_000},
            timeout=PATIENCE,
            on_event=lambda event: told.append((event.type, event.text)),
        )

    assert desk.run(start())["state"] == "terminated"
    assert told[0][0] == "progress"
    assert "shop.py" in told[0][1]
