"""Upstream servers from the command line: listed, added, switched, trusted by a person, taken over from clients."""

import json
import os
import pty
import select
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import BN, Bn

ADD = ("upstream", "add")


def config(bn: Bn) -> Path:
    return bn.repo / ".binnacle/mcp.json"


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def listed(bn: Bn, **options: Any) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in bn("upstream", "list", **options)["servers"]}


def on_a_terminal(bn: Bn, *words: str, answers: str) -> tuple[int, str]:
    """Runs `bn` on a terminal where a person types."""
    terminal, other = pty.openpty()
    process = subprocess.Popen([BN, *words], cwd=bn.repo, env=bn.env, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(terminal, answers.encode())
    seen = bytearray()
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                part = os.read(terminal, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not part:
                break
            seen += part
        return process.wait(60), seen.decode()
    finally:
        process.kill()
        process.wait(60)
        os.close(terminal)


def test_a_project_without_servers_says_how_to_add_one(bn):
    assert bn("upstream", "list")["servers"] == []
    assert "bn upstream add" in bn.human("upstream", "list")


def test_a_command_is_added_as_it_was_typed(bn):
    said = bn(
        *ADD, "db", "--env", "URL=${DB}", "--lazy", "--allow", "q*", "--cwd", "sub", "--", "npx", "-y", "x", "--", "-z"
    )
    assert (said["action"], said["file"]) == ("added", str(config(bn)))
    assert json.loads(config(bn).read_text()) == {
        "servers": {
            "db": {
                "transport": "stdio",
                "command": "npx",
                "args": ["-y", "x", "--", "-z"],
                "env": {"URL": "${DB}"},
                "cwd": "sub",
                "lazy": True,
                "tools": {"allow": ["q*"]},
            }
        }
    }
    assert [one["message"] for one in said["problems"]] == ["env.URL: ${DB} is not defined"]
    row = listed(bn, env={"DB": "s3cret"})["db"]
    assert (row["transport"], row["target"], row["env"]) == ("stdio", "npx -y x -- -z", ["URL"])
    assert (row["enabled"], row["trusted"], row["source"]) == (True, False, f"{config(bn)}:3")


def test_a_url_is_added_for_the_project_or_for_the_person(bn):
    bn(*ADD, "web", "https://h/mcp", "--header", "X-Team=a")
    said = bn(*ADD, "live", "wss://h/", "--user")
    user = Path(bn.env["XDG_CONFIG_HOME"]) / "binnacle/mcp.json"
    assert said["file"] == str(user)
    assert stat.S_IMODE(user.stat().st_mode) == 0o600
    rows = listed(bn)
    assert (rows["web"]["transport"], rows["web"]["headers"], rows["web"]["kind"]) == ("http", ["X-Team"], "project")
    assert (rows["live"]["transport"], rows["live"]["kind"], rows["live"]["trusted"]) == ("websocket", "user", True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bad name", "https://h"), "a server's name"),
        (("a", "https://"), "url: not a URL"),
        (("a", "https://h", "--transport", "websocket"), "url: expected a URL with ws://"),
        (("a", "https://h", "--env", "A=b"), "env: only for servers with a command"),
        (("a", "https://h", "--transport", "htp"), "transport: expected one of"),
        (("a", "--", "bn", "mcp", "serve"), "command: this is Binnacle itself"),
    ],
)
def test_what_could_never_work_is_not_written(bn, words, message):
    error = bn.fails(*ADD, *words)
    assert error["code"] == "E_INVALID_PARAMS"
    assert error["message"].startswith(message)
    assert not config(bn).exists()


def test_options_that_make_no_sense_are_refused(bn):
    assert "NAME=VALUE" in bn.fails(*ADD, "a", "https://h", "--header", "x", code=2)["message"]
    assert "takes no arguments" in bn.fails(*ADD, "a", "https://h", "more", code=2)["message"]
    bn.fails(*ADD, "a", code=2)


def test_a_name_is_added_once_in_a_file_and_the_project_counts(bn):
    bn(*ADD, "a", "https://h")
    assert bn.fails(*ADD, "a", "https://other")["code"] == "E_DUPLICATE"
    said = bn(*ADD, "a", "https://mine", "--user")
    assert said["warnings"] == [".binnacle/mcp.json:3 has the same name and counts instead"]
    assert listed(bn)["a"]["target"] == "https://h"
    said = bn("upstream", "remove", "a")
    assert "counts now" in said["warnings"][0]
    assert listed(bn)["a"]["target"] == "https://mine"
    bn("upstream", "remove", "a")
    assert listed(bn) == {}


def test_a_literal_secret_is_kept_but_warned_about(bn):
    said = bn(*ADD, "a", "--env", "API_KEY=s3cret", "--", "x")
    assert "env.API_KEY" in said["warnings"][0]
    assert "s3cret" not in json.dumps(said)
    assert "s3cret" in config(bn).read_text()
    for shown in (bn.run("upstream", "list").out, bn.human("upstream", "list")):
        assert "s3cret" not in shown


def test_a_server_is_switched_off_and_on_where_it_stands(bn):
    (bn.repo / ".beans").mkdir()
    file = bn.repo / ".beans/mcp.json"
    file.write_text('{\n  // ours\n  "servers": {"a": {"transport": "http", "url": "https://h"}}\n}\n')
    before = file.read_text()
    assert bn("upstream", "disable", "a")["action"] == "disabled"
    assert "// ours" in file.read_text()
    assert listed(bn)["a"]["enabled"] is False
    assert bn("upstream", "disable", "a")["action"] == "unchanged"
    assert "a enabled: .beans/mcp.json" in bn.human("upstream", "enable", "a")
    assert listed(bn)["a"]["enabled"] is True
    assert (bn.repo / ".beans/mcp.json.bak").read_text() == before


def test_an_unknown_name_brings_the_nearest(bn):
    bn(*ADD, "database", "https://h")
    for command in ("remove", "enable", "disable"):
        error = bn.fails("upstream", command, "databse")
        assert (error["code"], error["hint"]) == ("E_NOT_FOUND", "did you mean 'database'?")


def test_problems_are_listed_with_their_place_and_the_next_step(bn):
    config(bn).parent.mkdir()
    config(bn).write_text('{"servers": {\n"a": {"comand": "x"},\n"b": {"url": "https://h"}}}')
    said = bn("upstream", "list")
    (problem,) = said["servers"][0]["problems"]
    assert (
        problem
        == {
            "server": "a",
            "where": f"{config(bn)}:2",
            "message": "comand: unknown key",
            "hint": "did you mean 'command'?",
        }
        or said["servers"][0]["problems"]
    )
    shown = bn.human("upstream", "list")
    assert ".binnacle/mcp.json:2: a: comand: unknown key" in shown
    assert "hint: did you mean 'command'?" in shown
    assert "broken" in shown


def test_a_broken_file_is_said_and_never_written(bn):
    config(bn).parent.mkdir()
    config(bn).write_text('{"servers": {')
    assert bn("upstream", "list")["problems"][0]["where"] == f"{config(bn)}:1"
    for words in ((*ADD, "a", "https://h"), ("upstream", "remove", "a")):
        error = bn.fails(*words)
        assert error["code"] == "E_CONFIG"
        assert "mcp.json:1" in error["message"]
    assert config(bn).read_text() == '{"servers": {'


def test_what_a_person_adds_is_trusted_until_somebody_changes_it(bn):
    assert "next" not in bn(*ADD, "db", "--", "npx", "server")
    assert listed(bn)["db"]["trusted"] is True
    write(config(bn), {"servers": {"db": {"command": "npx", "args": ["evil"]}}})
    assert listed(bn)["db"]["trusted"] is False
    assert bn("trust", "db", "--yes")["trusted"] == ["server:db"]
    assert listed(bn)["db"]["trusted"] is True
    bn("upstream", "remove", "db")
    write(config(bn), {"servers": {"db": {"command": "npx", "args": ["evil"]}}})
    assert listed(bn)["db"]["trusted"] is False, "it was taken out, and what was trusted of it with it"


def test_without_a_terminal_nothing_is_trusted_by_asking(bn):
    write(config(bn), {"servers": {"db": {"command": "npx"}}})
    error = bn.fails("trust", "db", code=2)
    assert "bn trust server:db --yes" in error["hint"]
    assert listed(bn)["db"]["trusted"] is False


def test_a_person_sees_the_whole_entry_and_says_yes_or_no(bn):
    write(config(bn), {"servers": {"db": {"command": "npx", "args": ["\x1b[2Jtrick"], "env": {"HOME": "/evil"}}}})
    code, seen = on_a_terminal(bn, "trust", "db", "-H", answers="n\n")
    assert code == 0
    assert "\x1b[2J" not in seen
    for told in ("it would start npx", "u001b[2Jtrick", '"HOME": "/evil"', "not trusted"):
        assert told in seen
    assert listed(bn)["db"]["trusted"] is False
    on_a_terminal(bn, "trust", "-H", answers="y\n")
    assert listed(bn)["db"]["trusted"] is True
    write(config(bn), {"servers": {"db": {"command": "npx", "args": ["\x1b[2Jtrick"], "env": {"HOME": "/worse"}}}})
    assert listed(bn)["db"]["trusted"] is False, "a value that decides what code is loaded"
    _, seen = on_a_terminal(bn, "trust", "-H", answers="\n")
    assert '-    "HOME": "/evil"' in seen
    assert '+    "HOME": "/worse"' in seen
    assert listed(bn)["db"]["trusted"] is False


def test_a_remote_server_of_a_project_is_shown_with_all_that_is_sent(bn):
    bn.env["TICKETS_KEY"] = "secret-1"
    entry = {"url": "https://tickets.example.com/mcp", "headers": {"X-Key": "${TICKETS_KEY}"}}
    write(config(bn), {"servers": {"tickets": entry, "open": {"url": "https://h/mcp"}}})
    assert [one["trusted"] for one in listed(bn).values()] == [False, False]
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    for told in ("it would connect to", entry["url"], '"X-Key": "${TICKETS_KEY}"', "https://h/mcp"):
        assert told in seen
    assert "secret-1" not in seen
    _, seen = on_a_terminal(bn, "trust", "-H", answers="o\ny\nn\n")
    assert [one["trusted"] for one in listed(bn).values()] == [True, False]


def test_an_agent_may_neither_trust_nor_touch_what_is_the_persons(bn):
    write(config(bn), {"servers": {"db": {"command": "npx"}}})
    bn(*ADD, "mine", "https://h", "--user")
    for words in (
        ("trust", "db", "--yes"),
        (*ADD, "x", "--user", "--", "evil"),
        ("upstream", "remove", "mine"),
        ("upstream", "enable", "mine"),
        ("upstream", "import", "--user"),
    ):
        assert bn.fails(*words, env=bn.agent("bob"))["code"] in ("E_REFUSED", "E_PERSON_NEEDED")
    assert listed(bn)["db"]["trusted"] is False


def test_a_projects_server_that_nobody_trusted_takes_no_name_away_from_the_persons_own(bn):
    bn(*ADD, "db", "https://mine.example", "--user")
    write(config(bn), {"servers": {"db": {"url": "https://theirs.example"}}})
    assert (listed(bn)["db"]["kind"], listed(bn)["db"]["target"]) == ("user", "https://mine.example")


def test_what_a_repository_has_for_clients_becomes_the_persons_own_only_by_its_name(bn):
    write(bn.repo / ".mcp.json", {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})
    bn("upstream", "import", "b", "--user")
    bn("upstream", "import", "--user")
    found = listed(bn)
    assert (found["a"]["kind"], found["a"]["trusted"]) == ("project", False)
    assert found["b"]["kind"] == "user"


def test_the_servers_of_disciplines_are_trusted_like_the_projects(bn):
    bn("discipline", "add", "docs", "--upstreams", "-", stdin='{"manual": {"command": "man-server"}}')
    assert listed(bn) == {}
    (row,) = bn("upstream", "list", "--discipline", "docs")["servers"]
    assert (row["kind"], row["source"], row["trusted"]) == ("discipline", "discipline", False)
    bn("trust", "manual", "--yes")
    (row,) = bn("upstream", "list", "--discipline", "docs")["servers"]
    assert row["trusted"] is True


def test_servers_of_clients_are_taken_over_where_they_were(bn):
    home = Path(bn.env["HOME"])
    write(bn.repo / ".mcp.json", {"mcpServers": {"a": {"command": "x"}, "binnacle": {"command": "bn"}}})
    write(
        bn.repo / ".vscode/mcp.json", {"servers": {"a": {"command": "other"}, "My Server": {"url": "https://h/${K}"}}}
    )
    write(home / ".cursor/mcp.json", {"mcpServers": {"u": {"url": "https://u", "headers": {"X-Token": "s3cret"}}}})
    write(home / ".copilot/mcp-config.json", {"mcpServers": {"broken": {"type": "local"}}})
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("{oops")
    dry = bn("upstream", "import", "--dry-run")
    assert not config(bn).exists()
    said = bn("upstream", "import")
    assert said["taken"] == dry["taken"]
    assert {one["name"]: (one["was"], one["scope"]) for one in said["taken"]} == {
        "a": ("a", "project"),
        "My-Server": ("My Server", "project"),
        "u": ("u", "user"),
    }
    assert [(one["name"], one["how"]) for one in said["there"]] == [("a", "but different")]
    assert {one["name"] for one in said["unusable"]} == {"broken", ""}
    assert "headers.X-Token" in next(one for one in said["taken"] if one["name"] == "u")["warnings"][0]
    assert "s3cret" not in json.dumps(said)
    assert said["next"] == "bn trust server:a server:My-Server"
    again = bn("upstream", "import")
    assert again["taken"] == []
    assert listed(bn)["u"]["kind"] == "user"
    shown = bn.human("upstream", "import")
    assert "is there already" in shown
    assert "settings.json" in shown


def test_one_client_one_file_or_some_names_are_taken(bn):
    home = Path(bn.env["HOME"])
    write(bn.repo / ".mcp.json", {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})
    write(home / ".cursor/mcp.json", {"mcpServers": {"c": {"url": "https://u"}}})
    write(home / "mine.json", {"mcpServers": {"d": {"command": "z"}}})
    assert [one["name"] for one in bn("upstream", "import", "--from", "cursor")["taken"]] == ["c"]
    assert [one["name"] for one in bn("upstream", "import", "b")["taken"]] == ["b"]
    (taken,) = bn("upstream", "import", "--from", str(home / "mine.json"))["taken"]
    assert (taken["name"], taken["scope"]) == ("d", "user")
    assert "no such file" in bn.fails("upstream", "import", "--from", "nobody")["message"]
    done = bn.run("upstream", "import", "nope")
    assert (done.code, done.json["unusable"]) == (1, [{"name": "nope", "from": "", "reason": "no client has it"}])
