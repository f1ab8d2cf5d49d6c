"""What the README says that `bn mcp serve` gives an agent, word by word, through a real server."""

import json
from pathlib import Path

import pytest

from cli.conftest import BN
from docs.example_project import ExampleProject
from docs.test_examples import DATABASE
from server.clients import Stdio, call, notification, request, text_of

README = (Path(__file__).parents[2] / "README.md").read_text()

WORK = {"task_add", "task_list", "task_get", "task_claim", "task_status", "comment_add", "learning_add"}
DEBUGGER = {"breakpoint_set", "debug_start", "debug_evaluate", "debug_step_over", "debug_stop", "test_debug_single"}

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def project(tmp_path) -> ExampleProject:
    found = ExampleProject(tmp_path / "place")
    found.fill()
    found.run(f"bn upstream add database -- {DATABASE}")
    return found


def serve(project: ExampleProject, *words: str) -> Stdio:
    return Stdio(command=[BN, "mcp", "serve", *words], cwd=project.repo, env=project.env)


def tools_of(server: Stdio) -> dict[str, dict]:
    """The tools that are listed once the server beside it has come."""
    server.ask(request("hello", "initialize", HELLO))
    server.send(notification("notifications/initialized"))
    while True:
        found = {one["name"]: one for one in server.ask(request("list", "tools/list"))["result"]["tools"]}
        if "mcp_database_query" in found:
            return found
        while "list_changed" not in server.read().get("method", ""):
            pass


def test_the_promises_are_in_the_readme():
    flat = " ".join(README.split())
    assert "`bn mcp serve` gives agents the work as tools, the command itself and the tools of every other MCP" in flat
    assert "`--recipe develop` adds a debugger" in flat


def test_the_server_gives_the_work_the_command_and_the_tools_of_other_servers(project):
    with serve(project) as server:
        assert WORK | {"bn_run", "mcp_database_query"} <= tools_of(server).keys()


def test_the_recipe_develop_adds_a_debugger_within_the_limit(project):
    with serve(project, "--recipe", "develop") as server:
        tools = tools_of(server)
        assert WORK | DEBUGGER | {"bn_run", "mcp_database_query"} <= tools.keys()
        own = [tool for name, tool in tools.items() if not name.startswith("mcp_")]
        assert len(json.dumps(own, separators=(",", ":"), ensure_ascii=False).encode()) <= 20_000
        assert "Write it" in text_of(server.ask(call(1, "task_add", tasks=[{"title": "Write it"}])))
        server.ask(call(2, "binnacle-set_agent", path=str(project.repo)))
        assert "Write it" in text_of(server.ask(call(3, "bn_run", args=["task", "list"])))
        assert "hi" in text_of(server.ask(call(4, "mcp_database_echo", text="hi")))
        server.ask(call(5, "breakpoint_set", path="src/cart.py", line=12))
        started = text_of(server.ask(call(6, "debug_start", pytest="tests/test_cart.py::test_total")))
        assert "src/cart.py" in started
        assert "2" in text_of(server.ask(call(7, "debug_evaluate", expression="len(items)")))
        server.ask(call(8, "debug_stop"))
    project.run("bn bridge stop")
