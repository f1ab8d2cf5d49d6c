"""What a project may start on this machine: only what a person has approved, exactly as it was."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from binnacle.errors import ConfigError, Refused
from binnacle.upstream.approvals import Seen, approve, differences, find_approval, forget, is_approved
from binnacle.upstream.config import Auth, ServerConfig, Source, SourceKind, load_servers
from binnacle.upstream.places import approvals_file as _approvals_file

SEEN = Seen(("npx", "-y", "server"), "", ("A",))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def approvals_file(environ: dict[str, str]) -> Path:
    return Path(_approvals_file(environ))


def server(kind: SourceKind = "project", **changes: Any) -> ServerConfig:
    fields = {"transport": "stdio", "command": "npx", "args": ("-y", "server"), "env": {"A": "1"}}
    return ServerConfig(**{"name": "one", "source": Source(kind, "mcp.json", 3), **fields, **changes})


def test_a_projects_command_waits_for_a_person(tmp_path, environ):
    repo = str(tmp_path)
    for kind in ("project", "discipline"):
        assert not is_approved(server(kind), repo, environ=environ)
    approve(server(), repo, SEEN, by="ann", is_agent=False, environ=environ)
    assert is_approved(server(), repo, environ=environ)
    found = find_approval("one", repo, environ=environ)
    assert found is not None
    assert (found.by, found.command) == ("ann", SEEN.words)
    forget("one", repo, environ=environ)
    assert not is_approved(server(), repo, environ=environ)


def test_what_the_person_configured_needs_nothing_more(tmp_path, environ):
    assert is_approved(server("user"), str(tmp_path), environ=environ)
    assert is_approved(server("cli"), str(tmp_path), environ=environ)
    remote = server(transport="http", command="", args=(), env={}, url="http://h")
    assert is_approved(remote, str(tmp_path), environ=environ)


def remote(kind: SourceKind = "project", **changes: Any) -> ServerConfig:
    fields = {"transport": "http", "command": "", "args": (), "env": {}, "url": "https://h/secret-1"}
    sent = {"written_url": "https://h/${KEY}", "variables": ("KEY",), "headers": {"X-Key": "secret-1"}}
    return server(kind, **{**fields, **sent, **changes})


SENT = Seen((), "", ("KEY",), "https://h/${KEY}", ("X-Key",))


@pytest.mark.parametrize(
    "sent",
    [{}, {"headers": {}}, {"variables": (), "auth": Auth(type="token_file", token_path="/home/ann/.token")}],
    ids=["variable", "in the url", "file"],
)
def test_a_projects_server_that_is_sent_secrets_waits_for_a_person(tmp_path, environ, sent):
    repo = str(tmp_path)
    for kind in ("project", "discipline"):
        assert not is_approved(remote(kind, **sent), repo, environ=environ)
    for kind in ("user", "cli"):
        assert is_approved(remote(kind, **sent), repo, environ=environ)
    approve(remote(**sent), repo, SENT, by="ann", is_agent=False, environ=environ)
    assert is_approved(remote(**sent), repo, environ=environ)
    assert "secret-1" not in approvals_file(environ).read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"written_url": "https://evil/${KEY}"},
        {"headers": {"X-Other": "secret-1"}},
        {"variables": ("KEY", "PASSWORD")},
        {"transport": "sse"},
        {"auth": Auth(type="token_file", token_path="/home/ann/.ssh/id")},
        {"auth": Auth(type="oauth", token_url="https://evil/token")},
        {"transport": "stdio", "command": "npx"},
    ],
)
def test_secrets_that_go_elsewhere_need_approval_again(tmp_path, environ, changes):
    approve(remote(), str(tmp_path), SENT, by="ann", is_agent=False, environ=environ)
    assert not is_approved(remote(**changes), str(tmp_path), environ=environ)


def test_a_key_may_be_renewed(tmp_path, environ):
    approve(remote(), str(tmp_path), SENT, by="ann", is_agent=False, environ=environ)
    renewed = remote(url="https://h/secret-2", headers={"X-Key": "secret-2"}, timeout=5.0)
    assert is_approved(renewed, str(tmp_path), environ=environ)


def test_what_changed_about_a_server_that_is_sent_secrets_is_said(tmp_path, environ):
    approve(remote(), str(tmp_path), SENT, by="ann", is_agent=False, environ=environ)
    before = find_approval("one", str(tmp_path), environ=environ)
    assert before is not None
    assert differences(before, Seen((), "", ("KEY", "PASSWORD"), "https://evil", ("X-Other",), "~/.ssh/id")) == [
        "url: was https://h/${KEY}, now https://evil",
        "file: was none, now ~/.ssh/id",
        "variable added: PASSWORD",
        "header added: X-Other",
        "header gone: X-Key",
    ]


@pytest.mark.parametrize(
    ("entry", "variables"),
    [
        ({"url": "https://h/mcp"}, ()),
        ({"url": "https://h/mcp", "headers": {"A": "Bearer ${env:TOKEN}"}}, ("TOKEN",)),
        ({"url": "https://h/mcp", "headers": {"A": "${A:-${B:-x}}", "B": "$${C}"}}, ("A", "B")),
        ({"url": "https://h/mcp", "auth": {"apiKey": "${input:my-key}"}}, ("BN_INPUT_MY_KEY",)),
        ({"url": "https://h/${workspaceFolderBasename}", "description": "${D}"}, ()),
        ({"url": "https://h/mcp", "headers": {"A": "${TOKEN}"}, "enabled": False}, ("TOKEN",)),
    ],
)
def test_the_variables_that_are_filled_in_are_known(tmp_path, entry, variables):
    environ = {"HOME": str(tmp_path), "TOKEN": "t", "BN_INPUT_MY_KEY": "k"}
    found = load_servers(str(tmp_path), discipline={"one": entry}, environ=environ)
    assert not found.problems
    assert found.servers["one"].variables == variables
    assert found.servers["one"].written_url == entry["url"]


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "npm"},
        {"args": ("-y", "server", "--more")},
        {"args": ("-y server",)},
        {"cwd": "/elsewhere"},
        {"env": {"A": "1", "B": "2"}},
        {"env": {}},
        {"env": {"B": "1"}},
    ],
)
def test_a_changed_command_needs_approval_again(tmp_path, environ, changes):
    approve(server(), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
    assert not is_approved(server(**changes), str(tmp_path), environ=environ)


@pytest.mark.parametrize("changes", [{"env": {"A": "2"}}, {"timeout": 5.0}, {"source": Source("project", "x", 9)}])
def test_what_does_not_change_the_command_needs_none(tmp_path, environ, changes):
    approve(server(), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
    assert is_approved(server(**changes), str(tmp_path), environ=environ)


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH"])
def test_the_value_of_a_variable_that_loads_code_is_approved_too(tmp_path, environ, name):
    approve(server(env={name: "/safe"}), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
    assert is_approved(server(env={name: "/safe"}), str(tmp_path), environ=environ)
    assert not is_approved(server(env={name: "./evil"}), str(tmp_path), environ=environ)


def test_an_approval_is_for_one_project_and_one_name(tmp_path, environ):
    approve(server(), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
    assert not is_approved(server(), str(tmp_path / "other"), environ=environ)
    assert not is_approved(server(name="two"), str(tmp_path), environ=environ)


def test_an_agent_may_not_approve(tmp_path, environ):
    with pytest.raises(Refused, match="only a person"):
        approve(server(), str(tmp_path), SEEN, by="bna-1", is_agent=True, environ=environ)
    assert not is_approved(server(), str(tmp_path), environ=environ)


def test_what_changed_is_said(tmp_path, environ):
    approve(server(), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
    before = find_approval("one", str(tmp_path), environ=environ)
    assert before is not None
    assert differences(before, Seen(("npx", "-y", "other", "--fast"), "sub", ("B",))) == [
        "argument 2: was server, now other",
        "argument 3 added: --fast",
        "directory: was the project, now sub",
        "variable added: B",
        "variable gone: A",
    ]
    assert differences(before, SEEN) == ["the value of something in it: a variable, or a text that is not shown"]


def test_nobody_else_can_read_or_change_the_approvals(tmp_path, environ):
    path = tmp_path / "config/binnacle/approvals.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    path.chmod(0o666)
    approve(server(args=("s3cret",)), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "s3cret" not in path.read_text()
    assert [one.name for one in path.parent.iterdir()] == ["approvals.json"]


def test_a_broken_file_approves_of_nothing_and_is_not_overwritten(tmp_path, environ):
    path = tmp_path / "config/binnacle/approvals.json"
    path.parent.mkdir(parents=True)
    for content in ('{"projects": 3}', "not json", '{"projects": {"/x": {"one": {"sha256": 1}}}}'):
        path.write_text(content)
        assert not is_approved(server(), str(tmp_path), environ=environ)
        with pytest.raises(ConfigError, match="not a file of approvals"):
            approve(server(), str(tmp_path), SEEN, by="ann", is_agent=False, environ=environ)
        assert path.read_text() == content


def test_approvals_at_the_same_time_are_all_kept(tmp_path, environ):
    code = (
        "import sys\n"
        "from binnacle.upstream.approvals import Seen, approve\n"
        "from binnacle.upstream.config import ServerConfig, Source\n"
        "for number in range(10):\n"
        "    name = f'{sys.argv[1]}-{number}'\n"
        "    config = ServerConfig(name=name, transport='stdio', command='x', source=Source('project'))\n"
        "    approve(config, '/repo', Seen(('x',), '', ()), by='ann', is_agent=False)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(number)], env=os.environ | environ) for number in range(4)
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0, 0]
    kept = json.loads((tmp_path / "config/binnacle/approvals.json").read_text())
    assert len(kept["projects"]["/repo"]) == 40
