"""The page beside an MCP server and beside a run: in the same process, and never in its way."""

import json
import shlex
import signal
import subprocess

import httpx
import pytest

import forked_bn
from demo_commands import MISBEHAVING_AGENT
from forked_bn import BN
from runner.runs import TWO
from web.served_gui import TIMEOUT_SECONDS, bn


@pytest.fixture
def mcp(repo):
    """An MCP server with a page."""
    process = start(repo, "mcp", "serve", "--http", "127.0.0.1:0", "--gui")
    yield process, json.loads(process.stdout.readline())
    finish(process)


def start(repo, *words: str, **env: str) -> "subprocess.Popen[bytes]":
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    import os

    return forked_bn.start([BN, *words], cwd=repo, env={**os.environ, **env}, **pipes)


def finish(process) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    code = process.wait(TIMEOUT_SECONDS)
    process.stdout.close()
    process.stderr.close()
    return code


def sign_in(link: str) -> httpx.Client:
    answer = httpx.get(link, timeout=TIMEOUT_SECONDS)
    assert answer.status_code == 200, answer.text
    base = link.partition("/?")[0]
    return httpx.Client(base_url=base, cookies=answer.cookies, timeout=TIMEOUT_SECONDS)


def test_an_mcp_server_serves_the_page_on_a_port_of_its_own(mcp, repo):
    process, ready = mcp
    with sign_in(ready["page"]) as person:
        answer = person.get("/api/projects").json()
        assert not answer["is_readonly"]
        assert person.get("/mcp").headers["content-type"].startswith("text/html"), "that is no address of the page"
    assert httpx.get(f"{ready['url'].removesuffix('/mcp')}/api/projects").status_code in (401, 404)
    assert finish(process) == 0


def test_two_pages_at_once_have_two_ports(mcp, repo):
    _, first = mcp
    other = start(repo, "mcp", "serve", "--http", "127.0.0.1:0", "--gui")
    second = json.loads(other.stdout.readline())
    assert first["page"].partition("/?")[0] != second["page"].partition("/?")[0]
    assert finish(other) == 0


def test_a_server_that_an_agent_started_has_a_page_that_changes_nothing(repo):
    process = start(repo, "mcp", "serve", "--http", "127.0.0.1:0", "--gui", CLAUDECODE="1")
    ready = json.loads(process.stdout.readline())
    with sign_in(ready["page"]) as person:
        assert person.get("/api/projects").json()["is_readonly"]
    finish(process)


def test_on_stdio_there_is_no_page(repo):
    process = start(repo, "mcp", "serve", "--gui")
    assert process.wait(TIMEOUT_SECONDS) == 2
    assert "--gui needs --http" in process.stderr.read().decode()
    finish(process)


def test_a_run_serves_the_page_while_it_runs(repo):
    (repo / "words.md").write_text(TWO)
    agent = shlex.join(MISBEHAVING_AGENT)
    process = start(repo, "run", "words.md", "--agent", agent, "--gui", "--json")
    first = process.stderr.readline().decode()
    assert first.startswith("page: http://127.0.0.1:")
    with sign_in(first.removeprefix("page: ").strip()) as person:
        assert [one["name"] for one in person.get("/api/projects").json()["projects"]] == ["shop"]
    _, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 3
    assert bn(repo, "status")["overview"]["tasks"] == 2


def test_a_page_that_cannot_be_served_ends_nothing(repo, tmp_path):
    folder = tmp_path / "data" / ".page"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("no folder")
    process = start(repo, "mcp", "serve", "--http", "127.0.0.1:0", "--gui")
    ready = json.loads(process.stdout.readline())
    assert "page" not in ready
    headers = {"authorization": f"Bearer {ready['token']}"}
    assert httpx.get(ready["url"], headers=headers, timeout=TIMEOUT_SECONDS).status_code == 405
    assert finish(process) == 0
