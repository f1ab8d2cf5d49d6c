"""`bn mcp serve` as a client meets it: the test plan of the passthrough, and the work tools."""

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import forked_bn
from cli.conftest import BN

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Client:
    """A client of the handshake era on stdio."""

    def __init__(self, bn, *options: str, **env: str) -> None:
        self.process = forked_bn.start(
            [BN, "mcp", "serve", *options], cwd=bn.repo, env=bn.env | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._count = 0
        self._buffer = b""
        self.hello = self.ask("initialize", **HELLO)

    def send(self, method: str, **params) -> int:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._count

    def notify(self, method: str, **params) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict:
        end = time.monotonic() + 60
        while b"\n" not in self._buffer and time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 1)[0]:
                chunk = os.read(self.process.stdout.fileno(), 1 << 20)
                assert chunk, "the server is gone"
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, method: str, **params) -> dict:
        number = self.send(method, **params)
        while True:
            message = self.receive()
            if message.get("id") == number:
                return message["result"]

    def tool(self, name: str, /, **arguments) -> dict:
        return self.ask("tools/call", name=name, arguments=arguments)

    def data(self, name: str, /, **arguments) -> dict:
        result = self.tool(name, **arguments)
        assert not result["isError"], result["content"]
        return result["structuredContent"]["data"]

    def text(self, name: str, /, **arguments) -> str:
        return self.tool(name, **arguments)["content"][0]["text"]

    def close(self) -> int:
        """Ends the conversation and returns the server's exit code."""
        self.process.stdin.close()
        return self.process.wait(timeout=60)

    def end(self) -> None:
        """Leaves nothing behind, whatever the test did."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=60)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def connect(bn):
    """Starts servers, and ends them with the test."""
    made: list[Client] = []

    def start(*options: str, **env: str) -> Client:
        made.append(Client(bn, *options, **env))
        return made[-1]

    yield start
    for client in made:
        client.end()


@pytest.fixture
def client(connect) -> Client:
    return connect()


def test_the_handshake_and_the_list(client):
    assert client.hello["protocolVersion"] == "2025-06-18"
    assert client.hello["serverInfo"]["name"] == "binnacle"
    names = [tool["name"] for tool in client.ask("tools/list")["tools"]]
    assert {"binnacle-set_agent", "binnacle-orient", "binnacle-goodbye", "bn_run", "task_claim"} <= set(names)
    assert len(names) <= 40


def test_set_agent_then_bn_run(client, bn):
    assert client.text("bn_run", args=["ready"]) == (
        "[E_PREREQUISITE] Session not initialized. Call binnacle-set_agent first.\n"
        'hint: say which repository you work in: binnacle-set_agent {"path":"/absolute/path"}'
    )
    begun = client.data("binnacle-set_agent", path=str(bn.repo))
    assert begun["success"] is True
    assert begun["cwd"] == str(bn.repo)
    done = client.data("bn_run", args=["task", "add", "One"])
    assert done["exit_code"] == 0
    assert json.loads(done["stdout"])["tasks"][0]["title"] == "One"
    wrong = client.data("bn_run", args=["task", "show", "bn-0000000"])
    assert wrong["exit_code"] == 1
    assert json.loads(wrong["stderr"])["error"]["code"] == "E_NOT_FOUND"


def test_agents_get_json_whatever_form_a_person_likes(connect, bn):
    bn("config", "set", "output", "human")
    client = connect(BN_OUTPUT="human")
    client.data("binnacle-set_agent", path=str(bn.repo))
    assert json.loads(client.data("bn_run", args=["ready"])["stdout"])["total"] == 0
    assert json.loads(client.data("bn_run", args=["taks"])["stderr"])["error"]["code"] == "E_USAGE"
    assert client.data("bn_run", args=["ready", "-H"])["stdout"].startswith("nothing is ready")
    assert client.data("binnacle-orient", name="bob")["agent_id"]


def test_a_session_is_a_handle_that_can_be_passed(client, bn, tmp_path):
    first = client.data("binnacle-set_agent", path=str(bn.repo))["session"]
    elsewhere = tmp_path / "elsewhere"
    subprocess.run(["git", "init", "--quiet", str(elsewhere)], check=True, timeout=60)
    second = client.data("binnacle-set_agent", path=str(elsewhere))["session"]
    for handle, repo in (({}, elsewhere), ({"session": second}, elsewhere), ({"session": first}, bn.repo)):
        ran = client.data("bn_run", args=["status"], **handle)
        assert json.loads(ran["stdout"])["repo"] == str(repo)
    assert client.data("binnacle-set_agent", path=str(bn.repo))["session"] == first, "who comes back is who it was"
    assert "E_PREREQUISITE" in client.text("bn_run", args=["status"], session="mcp-nope")


def test_an_agent_from_a_shell_is_linked(client, bn):
    agent = bn("orient", "--name", "shelly")["agent_id"]
    begun = client.data("binnacle-set_agent", path=str(bn.repo), agent_id=agent)
    assert begun["message"] == f"Session initialized for agent {agent}"
    client.data("bn_run", args=["task", "add", "One"])
    client.data("task_add", tasks=[{"title": "Two"}])
    assert {event["actor"] for event in bn("log")["events"] if event["entity"] == "task"} == {agent}


def test_an_agent_nobody_knows_is_refused(client, bn):
    text = client.text("binnacle-set_agent", path=str(bn.repo), agent_id="bna-beef")
    assert text.startswith("error: Agent bna-beef not found in registry")
    assert client.text("binnacle-set_agent", path="relative").startswith("error: not a directory")


@pytest.mark.parametrize("args", [["orient"], ["-H", "goodbye"], ["-C", ".", "mcp", "serve"], ["--repo=.", "gui"]])
def test_what_cannot_be_passed_through_is_refused(client, bn, args):
    client.data("binnacle-set_agent", path=str(bn.repo))
    result = client.tool("bn_run", args=args)
    assert result["isError"] is True
    assert "is blocked in bn_run" in result["content"][0]["text"]


def test_a_command_that_hangs_ends_in_124(connect, bn):
    client = connect("--timeout", "1")
    client.data("binnacle-set_agent", path=str(bn.repo))
    result = client.tool("bn_run", args=["log", "--follow"])
    data = result["structuredContent"]["data"]
    assert (data["exit_code"], data["timed_out"], result["isError"]) == (124, True, True)
    assert "timed out after 1 second" in data["stderr"]
    assert client.close() == 0


def test_a_long_command_reports_its_progress(client, bn):
    client.data("binnacle-set_agent", path=str(bn.repo))
    number = client.send("tools/call", name="bn_run", arguments={"args": ["--help"]}, _meta={"progressToken": "p"})
    heard = []
    while (message := client.receive()).get("id") != number:
        heard.append(message)
    assert heard
    assert {message["method"] for message in heard} == {"notifications/progress"}
    assert {message["params"]["progressToken"] for message in heard} == {"p"}


def test_lifecycle_by_mcp_degrades_gracefully(client, bn):
    oriented = client.data("binnacle-orient", name="generic")
    assert oriented["agent_id"].startswith("bna-")
    assert "registered via MCP" in oriented["warning"]
    client.data("task_add", tasks=[{"title": "One"}])
    assert client.data("task_claim")["task"]["claimed_by"] == oriented["agent_id"]
    gone = client.data("binnacle-goodbye", reason="done")
    assert (gone["terminated"], gone["should_terminate"]) == (False, True)
    assert bn("ready")["total"] == 1, "its claim was released"


def test_resources_and_prompts(client, bn):
    uris = [one["uri"] for one in client.ask("resources/list")["resources"]]
    assert uris == ["binnacle://status", "binnacle://agents"]
    status = json.loads(client.ask("resources/read", uri="binnacle://status")["contents"][0]["text"])
    assert status["overview"]["tasks"] == 0
    (bn.repo / "AGENTS.md").write_text("be kind")
    assert client.ask("resources/read", uri="binnacle://agents")["contents"][0]["text"] == "be kind"
    names = [one["name"] for one in client.ask("prompts/list")["prompts"]]
    assert {"worker", "planner", "reviewer", "buddy"} <= set(names)
    text = client.ask("prompts/get", name="worker")["messages"][0]["content"]["text"]
    assert "bn" in text


def test_a_new_command_works_through_it_without_a_change(client, bn):
    client.data("binnacle-set_agent", path=str(bn.repo))
    for words in (["--version"], ["stats"], ["feature", "list"], ["config", "list"], ["doctor"], ["graph", "-H"]):
        assert client.data("bn_run", args=words)["exit_code"] == 0, words


def test_cancelling_ends_the_process_behind_a_call(client, bn):
    client.data("binnacle-set_agent", path=str(bn.repo))
    client.data("bn_run", args=["ready"])
    before = processes_in(bn.repo)
    number = client.send("tools/call", name="bn_run", arguments={"args": ["log", "--follow"]})
    wait_until(client, lambda: processes_in(bn.repo) > before)
    client.notify("notifications/cancelled", requestId=number)
    wait_until(client, lambda: processes_in(bn.repo) == before)
    assert client.close() == 0


def wait_until(client: Client, holds) -> None:
    """Waits, at most half a minute, while the server goes on answering."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        client.data("task_list")


def processes_in(repo: Path) -> set[str]:
    """The processes whose current directory is the test's own repository."""
    return {entry.name for entry in Path("/proc").iterdir() if entry.name.isdecimal() and _is_in(entry, repo)}


def test_closing_stdin_leaves_no_process_behind(client, bn):
    client.data("binnacle-set_agent", path=str(bn.repo))
    client.data("bn_run", args=["ready"])
    assert client.close() == 0
    assert processes_in(bn.repo) == set()


def _is_in(entry: Path, repo: Path) -> bool:
    try:
        return os.readlink(entry / "cwd") == str(repo)
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(client, number):
    client.process.send_signal(number)
    assert client.process.wait(timeout=60) == 0


def test_http_prints_its_url_and_wants_its_token(bn):
    process = subprocess.Popen([BN, "mcp", "serve", "--http", "0"], cwd=bn.repo, env=bn.env, stdout=subprocess.PIPE)
    try:
        said = json.loads(process.stdout.readline())
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}

        def post(token: str | None) -> int:
            headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
            headers |= {"authorization": f"Bearer {token}"} if token else {}
            request = urllib.request.Request(said["url"], json.dumps(body).encode(), headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code

        assert [post(said["token"]), post("wrong"), post(None)] == [200, 401, 401]
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0
        process.stdout.close()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--http", "0.0.0.0:0", "--no-auth"], "--no-auth"),
        (["--http", "x"], "PORT"),
        (["--http", "99999"], "PORT"),
        (["--timeout", "0"], "seconds"),
    ],
)
def test_wrong_options_are_refused(bn, words, hint):
    assert hint in bn.fails("mcp", "serve", *words, code=2)["hint"]


def test_tools_are_callable_from_the_shell(bn):
    made = bn("tool", "task_add", "--json", '{"tasks": [{"title": "One"}]}')
    assert made["ok"] is True
    assert bn("tool", "create_task", "-", stdin='{"title": "Two"}')["data"]["tasks"][0]["title"] == "Two"
    assert "One" in bn.human("tool", "task_list")
    assert bn("tool", "task-add", "--schema")["schema"]["required"] == ["tasks"]
    assert len(bn("tool")["tools"]) > 40
    failed = bn.run("tool", "task_get", '{"id": "bn-000"}')
    assert failed.code == 1
    assert failed.json["error"]["code"] == "E_NOT_FOUND"
    assert bn.fails("tool", "task_gte")["code"] == "E_NOT_FOUND"


def test_a_locked_store_does_not_stop_the_server(client, bn):
    client.data("task_add", tasks=[{"title": "One"}])
    script = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('begin immediate');"
        "print('locked', flush=True); sys.stdin.read(); db.execute('rollback')"
    )
    location = bn("store", "show")["location"]
    holder = subprocess.Popen([sys.executable, "-c", script, location], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"locked\n"
    number = client.send("tools/call", name="task_add", arguments={"tasks": [{"title": "Two"}]})
    assert client.ask("ping") == {}, "it answers while the other call waits"
    holder.communicate(timeout=30)
    assert client.receive()["id"] == number
    assert client.data("task_list")["total"] == 2
