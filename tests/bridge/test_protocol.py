"""What stands in the files, which programs in other languages write and read too."""

import contextlib
import json
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.bridge.jobs import job_files, process_identity, proofs, protocol
from binnacle.bridge.jobs.protocol import BridgeError, HostInfo, JobClaim, JobCommand, ScriptJob

KEY = b"key"


def made(workspace, **given):
    job_files.open_bridge(str(workspace))
    values = {"client_id": "cli-1", "id": protocol.new_id(), "created_at": protocol.now_text(), "script_name": "echo"}
    return JobCommand(**(values | given))


def published(workspace, command):
    return job_files.publish_job(str(workspace), job_files.prepare_job(str(workspace), command, KEY))


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def test_a_command_has_the_names_that_other_programs_know(tmp_path):
    folder = published(tmp_path, made(tmp_path, params={"path": "a.py"}, timeout=5000))
    written = read(folder, "command.json")
    assert {"version", "clientId", "id", "createdAt", "scriptName", "params", "timeout"} <= set(written)
    assert written["version"] == 2
    assert written["id"] == os.path.basename(folder)


def test_the_directory_is_ignored_by_git_and_private(tmp_path):
    folder = published(tmp_path, made(tmp_path))
    assert (tmp_path / ".vsc-bridge" / ".gitignore").read_text() == "*\n"
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_a_command_of_another_program_is_read(tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "command.json").write_text(
        '{"version":1,"clientId":"mcp-server","id":"x","createdAt":"","scriptName":"a","more":1}'
    )
    command = job_files.read_command(str(folder))
    assert command is not None
    assert command.script_name == "a"
    assert command.is_wanted(), "a client without a process id may be there"


def test_ids_sort_by_time_and_differ():
    ids = [protocol.new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(re.fullmatch(r"\d{8}T\d{9}Z-\d{4}-[0-9a-f]{4}", one) and len(one) <= 64 for one in ids)
    assert [one[:19] for one in ids] == sorted(one[:19] for one in ids)


def test_only_one_can_claim(tmp_path):
    folder = published(tmp_path, made(tmp_path))
    claims = [job_files.claim_job(folder, JobClaim(bridge_id=f"host-{n}", claimed_at="", pid=n)) for n in range(5)]
    assert claims == [True, False, False, False, False]
    assert read(folder, "claimed.json")["bridgeId"] == "host-0"


def test_what_was_answered_is_read(tmp_path):
    command = made(tmp_path)
    folder = published(tmp_path, command)
    job_files.write_answer(ScriptJob(command, folder, KEY), {"x": [1, None, "ü"]}, duration=1.5)
    assert job_files.read_result(folder, KEY) == {"x": [1, None, "ü"]}
    written = read(folder, "response.json")
    assert written["ok"] is True
    assert written["type"] == "success"
    assert written["meta"]["requestId"] == command.id
    assert os.path.exists(os.path.join(folder, "done"))
    assert sorted(os.listdir(folder)) == ["command.json", "done", "proof", "response.json"], (
        "nothing half written is left"
    )


def test_a_large_answer_has_a_file_of_its_own(tmp_path):
    command = made(tmp_path)
    folder = published(tmp_path, command)
    job_files.write_answer(ScriptJob(command, folder, KEY), "x" * (job_files.MAX_INLINE_ANSWER_BYTES + 1), duration=0)
    assert read(folder, "response.json")["dataRef"] == "data.json"
    assert len(job_files.read_result(folder, KEY)) == job_files.MAX_INLINE_ANSWER_BYTES + 1


def written(folder, kind, content):
    """An answer as a host wrote it."""
    (folder / f"{kind}.json").write_bytes(content)
    (folder / "done").write_text(proofs.prove_answer(KEY, kind, folder.name, content))


def test_a_reference_never_leaves_the_job(tmp_path):
    (tmp_path / "secret.json").write_text('"secret"')
    folder = tmp_path / "job"
    folder.mkdir()
    written(folder, "response", b'{"ok":true,"type":"success","dataRef":"../secret.json"}')
    assert job_files.read_result(str(folder), KEY) is None
    (folder / "data.json").symlink_to("../secret.json")
    assert job_files.read_result(str(folder), KEY) is None


@pytest.mark.parametrize("proof", [None, "", "0" * 64, "another kind", "another job", "another key", "other data"])
def test_an_answer_without_its_proof_is_none(tmp_path, proof):
    content = b'{"ok":true,"type":"success","data":"planted"}'
    (tmp_path / "response.json").write_bytes(content)
    known = {
        "another kind": proofs.prove_answer(KEY, "error", tmp_path.name, content),
        "another job": proofs.prove_answer(KEY, "response", "another", content),
        "another key": proofs.prove_answer(b"other", "response", tmp_path.name, content),
        "other data": proofs.prove_answer(KEY, "response", tmp_path.name, content, b"1"),
    }
    if proof is not None:
        (tmp_path / "done").write_text(known.get(proof, proof))
    with pytest.raises(BridgeError) as caught:
        job_files.read_result(str(tmp_path), KEY)
    assert caught.value.code == "E_NO_RESPONSE"


def test_an_error_comes_back_as_it_was(tmp_path):
    command = made(tmp_path)
    folder = published(tmp_path, command)
    error = BridgeError("E_NO_SESSION", "none", hint="start one", retryable=True, details={"a": 1})
    job_files.write_failure(ScriptJob(command, folder, KEY), error, duration=0)
    with pytest.raises(BridgeError) as caught:
        job_files.read_result(folder, KEY)
    assert caught.value.to_dict() == error.to_dict()
    assert read(folder, "error.json")["ok"] is False


@pytest.mark.parametrize("details", ['{"hint": "do this"}', '"text"', "[1]", "null"])
def test_errors_of_other_programs_are_read(tmp_path, details):
    told = f'{{"ok":false,"type":"error","error":{{"code":"E_X","message":"m","details":{details}}}}}'
    written(tmp_path, "error", told.encode())
    with pytest.raises(BridgeError) as caught:
        job_files.read_result(str(tmp_path), KEY)
    assert (caught.value.code, caught.value.message) == ("E_X", "m")
    assert caught.value.hint == ("do this" if "hint" in details else "")


@given(st.binary(max_size=200))
def test_whatever_stands_in_an_answer_is_an_answer_or_an_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("job")
    for kind in ("response", "error"):
        written(folder, kind, content)
        # An error is never taken for an answer, whatever stands in it.
        with pytest.raises(BridgeError) if kind == "error" else contextlib.suppress(BridgeError):
            job_files.read_result(str(folder), KEY)
        os.unlink(folder / f"{kind}.json")


def test_no_answer_at_all_is_said(tmp_path):
    with pytest.raises(BridgeError, match="without an answer") as caught:
        job_files.read_result(str(tmp_path), KEY)
    assert caught.value.code == "E_NO_RESPONSE"


def test_events_are_read_line_by_line_as_they_come(tmp_path):
    command = made(tmp_path)
    folder = published(tmp_path, command)
    job = ScriptJob(command, folder, KEY)
    assert job_files.read_events(folder, 0) == ([], 0)
    job.progress(10, "one")
    events, position = job_files.read_events(folder, 0)
    assert [(one.seq, one.pct, one.text, one.type) for one in events] == [(1, 10, "one", "progress")]
    with open(os.path.join(folder, "events.ndjson"), "ab") as file:
        file.write(b'no json\n{"ts":1,"seq":2,"te')
    events, later = job_files.read_events(folder, position)
    assert events == [], "half a line is not an event yet"
    with open(os.path.join(folder, "events.ndjson"), "ab") as file:
        file.write(b'xt":"two"}\n')
    events, _ = job_files.read_events(folder, later)
    assert [one.text for one in events] == ["two"]


def test_an_event_is_written_with_all_that_others_read(tmp_path):
    command = made(tmp_path)
    folder = published(tmp_path, command)
    ScriptJob(command, folder, KEY).progress(10, "one")
    written = read(folder, "events.ndjson")
    assert written.pop("ts") > 1_700_000_000_000
    assert written == {"seq": 1, "type": "progress", "pct": 10, "text": "one"}


def test_a_job_that_was_taken_away_is_told_nothing(tmp_path):
    command = made(tmp_path)
    folder = published(tmp_path, command)
    job_files.remove_job(folder)
    ScriptJob(command, folder, KEY).progress(1, "nobody hears it")
    assert not os.path.exists(folder)


def test_a_process_that_got_the_id_of_a_host_is_not_the_host():
    pid = os.getpid()
    start = process_identity.process_start(pid)
    assert HostInfo(bridge_id="a", pid=pid, process_start=start).is_alive()
    assert HostInfo(bridge_id="a", pid=pid).is_alive(), "a host of another program may not say when it started"
    assert not HostInfo(bridge_id="a", pid=pid, process_start=start + 1).is_alive()
    assert not HostInfo(bridge_id="a", pid=0).is_alive()


def test_a_process_of_another_container_is_not_looked_for_here():
    far = HostInfo(bridge_id="a", pid=2**22 + 1, namespace="elsewhere")
    assert not far.is_near
    assert far.is_alive()
