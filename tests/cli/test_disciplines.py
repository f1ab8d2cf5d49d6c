"""Disciplines from the command line: sets, denials, servers of their own, and deletion."""

import json
from pathlib import Path

import pytest

from binnacle.store import sessions
from binnacle.store.opening import open_sqlite
from binnacle.work.actor import Actor

SERVERS = {"docs": {"command": "docs-server", "args": ["--fast"], "env": {"KEY": "hidden"}}}


def test_a_set_is_imported_once_and_updated_when_asked(bn):
    said = bn("discipline", "import", "generic")
    assert len(said["imported"]["added"]) == 8
    bn("discipline", "update", "testing", "--title", "Mine")
    again = bn("discipline", "import", "generic")["imported"]
    assert set(again) == {"kept"}
    assert bn("discipline", "show", "testing")["discipline"]["title"] == "Mine"
    assert bn.human("discipline", "import", "generic", "--update").startswith("updated: testing\nkept as they are: ")
    assert bn("discipline", "show", "testing")["discipline"]["title"] == "Testing"


def test_the_sets_are_listed(bn):
    found = {one["set"]: one["disciplines"] for one in bn("discipline", "sets")["sets"]}
    assert {"generic", "desktop", "saas", "mobile"} == set(found)
    assert "security" in found["generic"]
    assert "backend" in bn.human("discipline", "sets")


def test_a_file_is_imported_all_or_nothing(bn):
    path = bn.repo / "team.yaml"
    path.write_text("disciplines:\n  - name: poetry\n  - name: prose\n    deny: [bn_run]\n")
    error = bn.fails("discipline", "import", "team.yaml")
    assert error["code"] == "E_CONFIG"
    assert error["message"] == "team.yaml:4: unknown key 'deny'"
    assert bn("discipline", "list")["disciplines"] == []
    path.write_text("disciplines:\n  - name: poetry\n  - name: prose\n    denied_tools: [bn_run]\n")
    assert bn("discipline", "import", "team.yaml")["imported"]["added"] == ["poetry", "prose"]
    assert "may not use:" in bn.human("discipline", "show", "prose")


def test_an_unknown_set_names_the_nearest(bn):
    assert "'mobile'" in bn.fails("discipline", "import", "mobil")["hint"]


def test_one_that_is_nearly_there_is_left_out(bn):
    bn("discipline", "add", "test")
    assert "left out: testing, because test is almost the same" in bn.human("discipline", "import", "generic")


@pytest.mark.parametrize("words", [["add", "poetry"], ["update", "prose"]])
def test_a_denial_with_a_slip_in_it_is_refused(bn, words):
    bn("discipline", "add", "prose")
    error = bn.fails("discipline", *words, "--deny", "debug_*", "--deny", "set_task_statsu")
    assert (error["code"], error["hint"]) == ("E_INVALID_PARAMS", "did you mean 'set_task_status'?")
    assert [one["name"] for one in bn("discipline", "list")["disciplines"]] == ["prose"]


@pytest.mark.parametrize("given", [SERVERS, {"mcpServers": SERVERS}])
def test_servers_of_its_own_are_read_from_json(bn, given):
    (bn.repo / "servers.json").write_text(json.dumps(given))
    bn("discipline", "add", "prose", "--upstreams", "servers.json")
    assert bn("discipline", "show", "prose")["discipline"]["upstreams"] == SERVERS
    shown = bn.human("discipline", "show", "prose")
    assert "upstream docs:" in shown
    assert "docs-server --fast" in shown
    assert "hidden" not in shown
    bn("discipline", "update", "prose", "--upstreams", "-", stdin='{"web": {"url": "https://example.org/mcp"}}')
    assert "https://example.org/mcp" in bn.human("discipline", "show", "prose")
    bn("discipline", "update", "prose", "--upstreams", "")
    assert "upstreams" not in bn("discipline", "show", "prose")["discipline"]


@pytest.mark.parametrize("given", ["[]", "7", '{"docs": "docs-server"}', '{"a b!": {}}', "{"])
def test_what_is_no_object_of_objects_is_refused(bn, given):
    error = bn.fails("discipline", "add", "prose", "--upstreams", "-", stdin=given)
    assert error["code"] == "E_INVALID_PARAMS"
    assert bn("discipline", "list")["disciplines"] == []


def test_one_that_an_active_session_has_is_not_deleted(bn):
    bn("discipline", "add", "prose")
    with open_sqlite(str(Path(bn("store", "path")["path"], "store.db"))) as store:
        with store.write(by=Actor("ann")) as tx:
            session = sessions.start(tx, recipe="loop", discipline="prose")
        error = bn.fails("discipline", "delete", "prose")
        assert error["code"] == "E_REFERENCED"
        assert error["details"]["referrers"] == [f"session {session.id}"]
        with store.write(by=Actor("ann")) as tx:
            sessions.abort(tx, session.id, reason="enough")
    bn("discipline", "delete", "prose")
    assert bn("discipline", "list")["disciplines"] == []
