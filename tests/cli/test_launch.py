"""`bn plan launch` with a real program in the place of each client, which speaks MCP to the server it is given."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import forked_bn
from binnacle.store import reports, sessions
from binnacle.store.opening import open_sqlite
from binnacle.work.session import SessionRecord
from cli.conftest import BN, Bn
from server.clients import WAIT, wait_for

CLIENTS = ("claude", "copilot", "opencode", "codex", "gemini", "goose")

PROGRAM = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from cli.launched import main
sys.exit(main({{name!r}}, sys.argv[1:]))
"""


class Launch:
    """Launches clients in a repository. Leaving it ends those that are left."""

    def __init__(self, bn: Bn, place: Path) -> None:
        self.bn = bn
        self.place = place
        self.tools = place / "tools"
        self.tools.mkdir()
        self._running: list[subprocess.Popen[bytes]] = []

    def install(self, client: str, text: str = PROGRAM) -> None:
        path = self.tools / client
        path.write_text(text.format(name=client) if text is PROGRAM else text)
        path.chmod(0o755)

    def env(self, part: dict[str, Any], record: str = "record") -> dict[str, str]:
        role = json.dumps({"record": str(self.place / record), **part})
        return self.bn.env | {"PATH": str(self.tools), "LAUNCHED": role, "BN_PASS_ENV": "LAUNCHED"}

    def __call__(self, client: str, *words: str, part: dict[str, Any], code: int = 0, **options: Any) -> Any:
        """What the client met, once it and `bn` have ended."""
        self.install(client)
        env = self.env(part) | options.pop("env", {})
        done = self.bn.run("plan", "launch", client, *words, env=env, **options)
        assert (done.code, done.err) == (code, ""), done
        assert done.out == ""
        return self.met()

    def begin(self, client: str, *words: str, part: dict[str, Any], record: str = "record", **options: Any) -> Any:
        """Starts one and leaves it running."""
        self.install(client)
        command = [BN, "plan", "launch", client, *words]
        options = {"stdin": subprocess.DEVNULL} | options
        process = forked_bn.start(command, cwd=self.bn.repo, env=self.env(part, record), **options)
        self._running.append(process)
        return process

    def met(self, record: str = "record") -> Any:
        wait_for((self.place / record).exists, "the client does not start")
        return json.loads((self.place / record).read_text())

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait(timeout=WAIT)


@pytest.fixture
def launch(bn, tmp_path) -> Iterator[Launch]:
    launching = Launch(bn, tmp_path)
    yield launching
    launching.close()


@pytest.fixture
def look(bn) -> Callable[[], list[SessionRecord]]:
    """The sessions there are, oldest first."""

    def listed() -> list[SessionRecord]:
        with open_sqlite(str(Path(bn("store", "path")["path"], "store.db"))) as store, store.read() as tx:
            return sessions.list_sessions(tx)[::-1]

    return listed


def folders(bn: Bn) -> list[str]:
    return sorted(path.name for path in Path(bn.env["BN_DATA_DIR"]).glob("*/sessions/*/"))


# -- what a client gets


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_the_tools_of_its_recipe_and_no_others(bn, launch, client):
    calls = [["create_task", {"title": "From the client"}], ["delete_task", {"id": "bn-1"}]]
    met = launch(client, "--recipe", "chat", part={"calls": calls})
    assert met["tools"] == [tool["name"] for tool in bn("plan", "show", "chat")["tools"]]
    added, refused = met["results"]
    assert not added["isError"]
    assert refused["structuredContent"]["error"]["code"] == "E_TOOL_DISABLED"
    assert "skip_task" in refused["structuredContent"]["error"]["hint"]
    assert [task["title"] for task in bn("task", "list")["tasks"]] == ["From the client"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_the_prompt_and_finds_the_files_written(bn, launch, client):
    task = bn.add("Mend the login")
    words = ("--recipe", "report", "--task", task[:6], "--input", "Be quick")
    met = launch(client, *words, "--", "--model", "x y", "--", "-H", part={})
    assert {"context.json", "prompt.md", "mcp.json"} <= met["files"].keys()
    context = json.loads(met["files"]["context.json"])
    assert (context["recipe"], context["task"]) == ("report", task)
    prompt = met["files"]["prompt.md"].strip()
    assert prompt in met["argv"]
    assert "Mend the login" in prompt
    assert "Be quick" in prompt
    assert met["argv"][-4:] == ["--model", "x y", "--", "-H"]
    assert met["cwd"] == str(bn.repo)
    assert folders(bn) == [context["session"]]


def test_two_at_once_never_see_each_others_plan(bn, launch, tmp_path):
    one = {"calls": [["delete_task", {"id": "bn-1"}]], "waits_for": str(tmp_path / "second")}
    other = {"calls": [["create_task", {"title": "No"}]], "waits_for": str(tmp_path / "first")}
    started = [
        launch.begin("claude", "--recipe", "chat", part=one, record="first"),
        launch.begin("goose", "--recipe", "report", part=other, record="second"),
    ]
    assert [process.wait(timeout=WAIT) for process in started] == [0, 0]
    first, second = launch.met("first"), launch.met("second")
    assert first["tools"] == [tool["name"] for tool in bn("plan", "show", "chat")["tools"]]
    assert second["tools"] == [tool["name"] for tool in bn("plan", "show", "report")["tools"]]
    for met in (first, second):
        assert met["results"][0]["structuredContent"]["error"]["code"] == "E_TOOL_DISABLED"
    assert json.loads(first["files"]["context.json"])["recipe"] == "chat"
    assert json.loads(second["files"]["context.json"])["recipe"] == "report"
    assert first["files"]["prompt.md"] != second["files"]["prompt.md"]


def test_a_discipline_brings_its_own_servers(bn, launch):
    servers = {"docs": {"command": "docs-server", "args": ["--fast"]}}
    bn("discipline", "add", "testing", "--upstreams", "-", stdin=json.dumps(servers))
    bn("trust", "docs", "--yes")
    met = launch("claude", "--recipe", "enrich", "--discipline", "testing", part={})
    assert list(met["servers"]) == ["bns", "docs"]
    assert met["servers"]["docs"] == servers["docs"]
    # Where other servers join ours, the client does not connect to them a second time.
    met = launch("claude", "--recipe", "task", "--discipline", "testing", part={})
    assert list(met["servers"]) == ["bns"]


def test_what_nobody_trusted_is_not_given_to_a_client(bn, launch):
    servers = {
        "docs": {"command": "docs-server"},
        "keys": {"url": "https://example.org/mcp", "headers": {"X-Key": "${BN_USER}"}},
        "web": {"url": "https://example.org/mcp"},
    }
    bn("discipline", "add", "testing", "--upstreams", "-", stdin=json.dumps(servers))
    words = ("--recipe", "enrich", "--discipline", "testing")
    met = launch("claude", *words, part={}, env={"BN_USER": "ann"})
    assert list(met["servers"]) == ["bns"]


def test_no_agent_starts_a_client(bn):
    refused = bn.fails("plan", "launch", "claude", env=bn.agent("boss"))
    assert refused["code"] == "E_PERSON_NEEDED"


def test_the_prompt_may_take_standard_input(launch):
    met = launch("goose", "--recipe", "brainstorm", "--input", "-", part={}, stdin="First this,\nthen that")
    assert "First this,\nthen that" in met["files"]["prompt.md"]


def test_gemini_is_at_home_where_the_person_is(bn, launch):
    home = Path(bn.env["HOME"], ".gemini")
    home.mkdir()
    (home / "settings.json").write_text('{"theme": "dark", "mcpServers": {"mine": {"command": "x"}}} // mine')
    (home / "oauth_creds.json").write_text("{}")
    met = launch("gemini", part={})
    assert list(met["servers"]) == ["bns"]
    assert not Path(met["env"]["GEMINI_CLI_HOME"]).exists()
    assert sorted(path.name for path in home.iterdir()) == ["oauth_creds.json", "settings.json"]


# -- how it ends


def test_the_session_ends_with_the_client_and_what_it_reported_counts(bn, launch, look):
    task = bn.add("One")
    launch(
        "claude",
        *("--recipe", "report", "--task", task),
        part={"calls": [["report_done", {"summary": "It works now"}]]},
    )
    (session,) = look()
    assert (session.status, session.reason, session.task_id) == ("complete", f"{task} is done", task)
    shown = bn("task", "show", task)["task"]
    assert (shown["status"], shown["closed_reason"]) == ("done", "It works now")


def test_a_session_whose_task_is_not_done_says_so(bn, launch, look):
    task, other = bn.add("One"), bn.add("Two")
    words = ("--recipe", "report", "--task")
    launch("claude", *words, task, part={"calls": [["report_partial", {"completed": "a", "remaining": "b"}]]})
    launch("claude", *words, other, part={"calls": []})
    partial, silent = sorted(look(), key=lambda session: session.created_at)
    assert (partial.status, partial.reason) == ("aborted", f"the client ended with 0; {task} is pending")
    assert silent.status == "aborted"
    assert silent.reason.startswith(f"the client ended with 0; {other} is ")


def test_a_session_without_a_task_is_complete_if_its_client_ended_well(launch, look):
    launch("claude", part={})
    (session,) = look()
    assert (session.status, session.reason) == ("complete", "the client ended with 0")


def test_the_exit_code_is_that_of_the_client(launch, look):
    launch("claude", part={"code": 3}, code=3)
    (session,) = look()
    assert session.reason == "the client ended with 3"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_for_bn_is_one_for_the_client(launch, look, number):
    process = launch.begin("claude", part={"catches": [number], "code": 7}, start_new_session=True)
    launch.met()
    process.send_signal(number)
    assert process.wait(timeout=WAIT) == 7
    assert launch.met()["signals"] == [number]
    (session,) = look()
    assert (session.status, session.reason) == ("aborted", "the client ended with 7")


def test_a_client_that_a_signal_ended_ends_bn_as_in_a_shell(bn, launch, look, tmp_path):
    process = launch.begin("claude", part={"waits_for": str(tmp_path / "never")})
    launch.met()
    process.terminate()
    assert process.wait(timeout=WAIT) == 128 + signal.SIGTERM
    (session,) = look()
    assert session.status == "aborted"


def test_the_keys_of_a_terminal_reach_the_client_once(launch, look):
    keyboard, screen = os.openpty()
    try:
        process = launch.begin(
            "claude",
            part={"catches": [signal.SIGINT], "reads": True, "code": 5},
            stdin=screen,
            stdout=screen,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        met = launch.met()
        os.write(keyboard, b"\x03")
        os.write(keyboard, b"enough\n")
        assert process.wait(timeout=WAIT) == 5
    finally:
        os.close(keyboard)
        os.close(screen)
    assert met["is_tty"][:2] == [True, True]
    assert "-p" not in met["argv"]
    assert launch.met()["signals"] == [signal.SIGINT]
    assert [session.status for session in look()] == ["aborted"]


def test_what_a_killed_bn_left_undecided_is_decided_by_the_next(bn, launch, look, tmp_path):
    task = bn.add("One")
    words = ("--recipe", "report", "--task", task)
    process = launch.begin("claude", *words, part={"waits_for": str(tmp_path / "never")}, record="first")
    left = launch.met("first")
    try:
        process.kill()
        process.wait(timeout=WAIT)
        assert [session.status for session in look()] == ["active"]
        met = launch("claude", *words, part={"calls": [["report_done", {"summary": "Done at last"}]]})
    finally:
        os.kill(left["pid"], signal.SIGKILL)
    assert "without a report" in met["files"]["prompt.md"] or "stuck" in met["files"]["prompt.md"].casefold()
    with open_sqlite(str(Path(bn("store", "path")["path"], "store.db"))) as store, store.read() as tx:
        tried = reports.load_outcomes(tx, task).tried
    assert [attempt.report.kind for attempt in tried] == ["done", "stuck"]
    assert bn("task", "show", task)["task"]["status"] == "done"


# -- what is shown, and what goes wrong


@pytest.mark.parametrize("client", CLIENTS)
def test_print_shows_the_command_and_does_nothing(bn, client, tmp_path):
    words = ("plan", "launch", client, "--recipe", "chat", "--input", "Say: 'hello'", "--print")
    shown = bn(
        "plan", "launch", client, "--recipe", "chat", "--input", "Say: 'hello'", "--print", "--", "--model", "x y"
    )
    assert shown["command"][0] == client
    assert shown["command"][-2:] == ["--model", "x y"]
    assert shown["prompt"] in shown["command"]
    assert "Say: 'hello'" in shown["prompt"]
    line = bn.human(*words)
    assert line.count("\n") == 1
    assert client in shlex.split(line)
    assert '/SESSION/prompt.md)"' in line
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["cloude"], "unknown client 'cloude'", "'claude'"),
        (["vim"], "unknown client 'vim'", "claude, copilot"),
        (["claude", "now"], "one word too many: 'now'", "--"),
        ([], "client", "--help"),
    ],
)
def test_a_mistake_on_the_command_line(bn, words, message, hint, tmp_path):
    error = bn.fails("plan", "launch", *words, code=2)
    assert error["code"] == "E_USAGE"
    assert message in error["message"]
    assert hint in error["hint"]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_not_there_begins_nothing(bn, launch, client, tmp_path):
    error = bn.fails("plan", "launch", client, env={"PATH": str(launch.tools)})
    assert (error["code"], error["message"]) == ("E_NOT_FOUND", f"{client} is not installed, or not on PATH")
    assert "npm install" in error["hint"] or "https://" in error["hint"]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--recipe", "yep"], "E_NOT_FOUND"),
        (["--task", "bn-ffff"], "E_NOT_FOUND"),
        (["--discipline", "nobody"], "E_NOT_FOUND"),
        (["--recipe", "chat", "--input", "x" * 50_001], "E_INVALID_PARAMS"),
    ],
)
def test_a_session_that_cannot_be_is_not_begun(bn, launch, look, words, code):
    launch.install("claude")
    assert bn.fails("plan", "launch", "claude", *words, env=launch.env({}))["code"] == code
    assert look() == []
    assert folders(bn) == []


def test_a_prompt_longer_than_a_command_line_may_be_is_refused(bn, launch, look):
    launch.install("claude")
    recipes = bn.repo / ".binnacle" / "recipes"
    recipes.mkdir(parents=True)
    (recipes / "vast.yaml").write_text("description: without measure\nextends: task\nbudget: 200000\n")
    task = bn.add("One")
    for number in range(8):
        bn("task", "comment", task, f"{number} " + "word " * 3_900)
    error = bn.fails("plan", "launch", "claude", "--recipe", "vast", "--task", task, env=launch.env({}))
    assert "a command line takes" in error["message"]
    assert (look(), folders(bn)) == ([], [])


def test_a_client_that_cannot_be_started_ends_its_session(bn, launch, look):
    launch.install("claude", "#!/nowhere/to/be/found\n")
    error = bn.fails("plan", "launch", "claude", env=launch.env({}))
    assert "cannot start" in error["message"]
    assert [(session.status, session.reason) for session in look()] == [("aborted", "the client could not be started")]
