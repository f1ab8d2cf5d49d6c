"""A session is in one project, and moves as a whole."""

import json
import sys
import time
from pathlib import Path

import pytest

ERAS = ("old", "new")


def titles(bn, repo) -> list[str]:
    return [task["title"] for task in bn("task", "list", cwd=repo)["tasks"]]


@pytest.mark.parametrize("era", ERAS)
def test_all_of_a_session_moves(bn, connect, other, era):
    (bn.repo / "AGENTS.md").write_text("be quick")
    (other / "AGENTS.md").write_text("be kind")
    talk = connect(era)
    talk.data("task_add", tasks=[{"title": "Here"}])
    moved = talk.data("binnacle-set_agent", path=str(other))
    assert moved["cwd"] == str(other)
    talk.data("task_add", tasks=[{"title": "There"}])
    talk.data("bn_run", args=["task", "add", "There too"])
    assert titles(bn, bn.repo) == ["Here"]
    assert titles(bn, other) == ["There", "There too"]
    assert json.loads(talk.read("binnacle://status"))["overview"]["tasks"] == 2
    assert talk.read("binnacle://agents") == "be kind"
    talk.data("binnacle-set_agent", path=str(bn.repo))
    assert [task["title"] for task in talk.data("task_list")["tasks"]] == ["Here"]


def test_the_tools_and_recipes_of_the_project_come_with_it(bn, client, other):
    recipe = other / ".binnacle" / "recipes" / "default.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text("extends: passthrough\ndescription: only the command\n")
    talk = client().pipe()
    assert "task_add" in talk.tools()
    talk.data("binnacle-set_agent", path=str(other))
    assert "task_add" not in talk.tools()
    assert "notifications/tools/list_changed" in talk.heard()
    assert talk.error("task_add", tasks=[{"title": "x"}])["code"] == "E_TOOL_DISABLED"


@pytest.mark.parametrize("path", ["/etc", "/"])
def test_what_is_no_project_is_refused(bn, connect, path):
    talk = connect("old")
    error = talk.error("binnacle-set_agent", path=path)
    assert error["code"] == "E_NO_PROJECT"
    assert "git init" in error["hint"]
    talk.data("task_add", tasks=[{"title": "Stays"}])
    assert titles(bn, bn.repo) == ["Stays"]


def test_a_server_outside_a_project_serves_and_asks_where_to_work(bn, client, tmp_path, other):
    outside = tmp_path / "outside"
    outside.mkdir()
    talk = client().pipe(cwd=outside)
    assert "binnacle-set_agent" in talk.hello["result"]["instructions"]
    assert "outside a project" in talk.hello["result"]["instructions"]
    assert "task_add" in talk.tools()
    for tool, arguments in (
        ("task_add", {"tasks": [{"title": "Lost"}]}),
        ("task_list", {}),
        ("task_claim", {}),
        ("binnacle-orient", {}),
        ("bn_run", {"args": ["task", "add", "Lost"]}),
    ):
        error = talk.error(tool, **arguments)
        assert error["code"] == "E_PREREQUISITE", tool
        assert "binnacle-set_agent" in error["hint"] + error["message"]
    assert not list((tmp_path / "data").glob("*/store.db"))
    talk.data("binnacle-set_agent", path=str(other))
    talk.data("task_add", tasks=[{"title": "Found"}])
    assert titles(bn, other) == ["Found"]


def test_a_command_of_a_session_ignores_where_its_server_was_told_to_be(bn, client, other):
    talk = client().pipe(cwd=bn.repo, BN_REPO=str(bn.repo))
    talk.data("binnacle-set_agent", path=str(other))
    talk.data("bn_run", args=["task", "add", "There"])
    assert titles(bn, other) == ["There"]


def test_a_folder_of_the_project_is_where_commands_run(bn, client, other):
    (other / "deep").mkdir()
    talk = client().pipe()
    assert talk.data("binnacle-set_agent", path=str(other / "deep"))["cwd"] == str(other / "deep")
    assert json.loads(talk.data("bn_run", args=["status"])["stdout"])["repo"] == str(other)


def test_the_upstream_servers_of_the_project_come_with_it(bn, client, other, tmp_path):
    server = Path(__file__).parents[1] / "server" / "stocked.py"
    bn("upstream", "add", "stock", "--", sys.executable, str(server), cwd=other)
    bn("trust", "stock", "--yes", cwd=other)
    talk = client().pipe()
    assert not any(name.startswith("mcp_") for name in talk.tools())
    talk.data("binnacle-set_agent", path=str(other))
    end = time.monotonic() + 60
    while "mcp_stock_touch" not in talk.tools():
        assert time.monotonic() < end, "the servers of the project do not come"
        talk.data("task_list")
    assert talk.tool("mcp_stock_touch", session="not ours")["content"]
    talk.data("binnacle-set_agent", path=str(bn.repo))
    assert not any(name.startswith("mcp_") for name in talk.tools())
