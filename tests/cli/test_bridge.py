"""`bn bridge`, and the debugger through files: started by need, ended by order, and never left hanging."""

import json
import os
import signal
import time

import pytest

from cli.test_mcp import Client

PROGRAM = """\
def total(items):
    result = 0
    for item in items:
        result += item
    return result


print(total([1, 2, 3]))
"""


@pytest.fixture
def workspace(bn):
    (bn.repo / "prog.py").write_text(PROGRAM)
    yield bn.repo
    bn.run("bridge", "stop")


def host_of(workspace):
    return json.loads((workspace / ".vsc-bridge" / "host.json").read_text())


def jobs(workspace):
    return os.listdir(workspace / ".vsc-bridge" / "execute")


def wait_until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_without_a_host_the_status_says_what_there_is(bn):
    answer = bn("bridge", "status")
    assert answer["host"] is None
    assert {one["name"] for one in answer["adapters"]} >= {"debugpy", "js-debug", "lldb-dap", "delve"}
    assert all(one["found"] or one["install"] for one in answer["adapters"])
    assert "symbol_rename" in answer["unsupported"]["tools"]
    assert "no host serves" in bn.human("bridge", "status")
    assert bn("bridge", "stop") == {"stopped": False}


def test_a_script_starts_the_host_which_answers_until_it_is_stopped(bn, workspace):
    assert bn("script", "run", "breakpoint.set", "-p", "path=prog.py", "-p", "line=4")["data"]["line"] == 4
    host = host_of(workspace)
    assert host["kind"] == "headless"
    status = bn("bridge", "status")
    assert status["host"]["healthy"]
    assert status["host"]["pid"] == host["pid"]
    assert jobs(workspace) == []
    assert bn.fails("bridge", "host")["code"] == "E_HOST_EXISTS"
    assert bn("bridge", "stop") == {"stopped": True, "pid": host["pid"]}
    assert bn("bridge", "status")["host"] is None


def test_a_host_that_does_not_answer_is_unhealthy_and_ended(bn, workspace):
    bn("script", "run", "breakpoint.list")
    pid = host_of(workspace)["pid"]
    os.kill(pid, signal.SIGSTOP)
    done = bn.run("bridge", "status")
    assert done.code == 1
    assert "E_PICKUP_TIMEOUT" in done.json["host"]["problem"]
    assert bn("bridge", "stop") == {"stopped": True, "pid": pid}
    assert bn("script", "run", "breakpoint.list")["ok"], "the next call starts another"


def test_no_time_at_all_is_no_time_to_be_idle(bn):
    assert bn.fails("bridge", "host", "--idle", "0", code=2)["code"] == "E_USAGE"


def test_what_only_an_editor_can_do_starts_no_host(bn):
    done = bn.run("script", "run", "symbol.rename", "-p", "newName=x")
    assert done.json["error"]["code"] == "E_UNSUPPORTED"
    assert "VS Code" in done.json["error"]["message"]
    assert not (bn.repo / ".vsc-bridge").exists()


@pytest.fixture
def client(bn, workspace):
    one = Client(bn, "--recipe", "debug")
    yield one
    one.end()


class TestSession:
    def test_a_program_is_debugged_from_the_first_stop_to_its_end(self, client, workspace):
        assert client.data("bridge_status")["host"] is None
        assert client.data("breakpoint_add", path="prog.py", line=4)["line"] == 4
        stopped = client.data("debug_start", program="prog.py", timeoutMs=60_000)
        assert stopped["state"] == "paused"
        assert stopped["frames"][0]["line"] == 4
        assert client.data("debug_evaluate", expression="result + item")["result"] == "1"
        client.data("breakpoint_clear_project")
        assert client.data("debug_continue", timeoutMs=60_000)["state"] == "terminated"
        assert jobs(workspace) == []

    def test_without_a_session_the_next_step_is_said(self, client):
        result = client.tool("debug_evaluate", expression="x")
        assert result["isError"]
        assert result["structuredContent"]["error"]["code"] == "E_NO_SESSION"
        assert "debug_start" in result["structuredContent"]["error"]["hint"]
        assert result["content"][0]["text"].startswith("[E_NO_SESSION] ")

    def test_a_wait_that_takes_too_long_times_out(self, client, workspace):
        (workspace / "prog.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
        client.data("debug_start", program="prog.py", wait=False)
        result = client.tool("debug_wait_for_hit", timeoutMs=200)
        assert result["structuredContent"]["error"]["code"] == "E_TIMEOUT"
        assert client.data("debug_stop")["state"] == "terminated"

    def test_a_cancelled_call_leaves_no_job_and_the_next_one_works(self, client, workspace):
        (workspace / "prog.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
        client.data("debug_start", program="prog.py", wait=False)
        number = client.send("tools/call", name="debug_wait_for_hit", arguments={"timeoutMs": 60_000})
        wait_until(lambda: jobs(workspace))
        client.notify("notifications/cancelled", requestId=number)
        assert client.data("debug_pause", timeoutMs=30_000)["state"] == "paused"
        assert jobs(workspace) == []

    def test_a_killed_client_leaves_no_job(self, client, workspace):
        (workspace / "prog.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
        client.data("debug_start", program="prog.py", wait=False)
        client.send("tools/call", name="debug_wait_for_hit", arguments={"timeoutMs": 60_000})
        wait_until(lambda: jobs(workspace))
        client.process.kill()
        client.process.wait(timeout=60)
        wait_until(lambda: not jobs(workspace))

    def test_a_killed_host_is_an_error_and_the_next_call_works(self, client, workspace):
        client.data("breakpoint_set", path="prog.py", line=4)
        assert client.data("debug_start", program="prog.py", timeoutMs=60_000)["state"] == "paused"
        pid = host_of(workspace)["pid"]
        os.kill(pid, signal.SIGKILL)
        result = client.tool("debug_evaluate", expression="result")
        error = result["structuredContent"]["error"]
        assert error["code"] in ("E_HOST_DOWN", "E_NO_SESSION"), "in the call, or seen before it by a new host"
        assert client.data("breakpoint_list")["breakpoints"], "they belong to the workspace"
        assert jobs(workspace) == []
