"""The acceptance criteria of seed 002, each through a real client, a real server, a real host and a real program.

They say nothing of the host but what every host must do: another one is another value of `HOSTS`, and is started in
the workspace before its agent is.
"""

import json
import os
import stat

import pytest

import cli.conftest
from binnacle.bridge.manifest import shipped_scripts
from bridge.agent import bench, command_of, wait_until
from server.clients import call, request

bn = cli.conftest.bn

HOSTS = ["headless"]
CATEGORIES = ("breakpoint", "code", "dap", "debug", "diagnostic", "editor", "search", "symbol", "test", "util")

RECIPE = "description: some tools of the bridge\ntools: [{}]\n"
"""No session has more than forty tools, so it takes two to see all."""

SCRIPT = """\
#!/bin/sh
sleep 60
"""
METADATA = """\
alias: deploy.check
name: Check a deployment
category: deploy
description: Says whether an environment is healthy.
params:
  environment: {type: enum, values: [staging, production], required: true}
  limit: {type: number, integer: true, min: 1, max: 100, default: 20}
response: query
mcp:
  timeout: 300
  llm: {when_to_use: Use it before a change.}
"""


@pytest.fixture(params=HOSTS)
def desk(request, bn):
    with bench(bn) as made:
        yield made


@pytest.fixture
def agent(desk):
    with desk.agent() as one:
        yield one


def test_01_an_agent_discovers_the_tools(desk):
    recipes = desk.workspace / ".binnacle" / "recipes"
    recipes.mkdir(parents=True)
    tools = {}
    for name, categories in (("afterwards", ["dap"]), ("meanwhile", [one for one in CATEGORIES if one != "dap"])):
        (recipes / f"{name}.yaml").write_text(RECIPE.format(", ".join(f"{one}_*" for one in categories)))
        with desk.agent("--recipe", name) as agent:
            tools |= agent.tools()
    enabled = {
        one.metadata.tool: one.metadata for one in shipped_scripts().scripts.values() if one.metadata.mcp.enabled
    }
    assert len(enabled) >= 35
    assert set(tools) == set(enabled)
    for name, about in enabled.items():
        tool = tools[name]
        assert tool["title"]
        assert tool["description"].startswith(about.mcp.description or about.description)
        assert about.mcp.llm.when_to_use in tool["description"]
        assert name.startswith(f"{about.category}_")
        assert set(tool["inputSchema"]["properties"]) == set(about.params)
        for parameter, schema in tool["inputSchema"]["properties"].items():
            assert {"type", "enum", "anyOf"} & set(schema), (name, parameter)


def test_02_a_tool_runs_through_files_and_its_answer_comes_back(desk, agent):
    told = agent.data("breakpoint_add", path="shop.py", line=4)
    assert told == {
        "success": True, "line": 4, "path": "shop.py", "verified": False, "message": "bound when a session starts",
    }  # fmt: skip
    assert desk.jobs() == []
    agent.data("debug_start", program="endless.py", wait=False)
    number = agent.begin("debug_wait_for_hit", timeoutMs=60_000)
    execute = desk.workspace / ".vsc-bridge" / "execute"
    wait_until(lambda: any((execute / name / "claimed.json").exists() for name in os.listdir(execute)))
    written = [json.loads((execute / name / "command.json").read_text()) for name in os.listdir(execute)]
    (command,) = [one for one in written if one["scriptName"] == "debug.wait-for-hit"]
    assert (command["version"], command["params"]["timeoutMs"]) == (2, 60_000)
    agent.data("debug_pause")
    assert agent.result(number)["structuredContent"]["data"]["state"] == "paused"


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("breakpoint_add", {"path": "shop.py"}, "give path and line"),
        ("debug_evaluate", {}, "debug_evaluate needs 'expression'"),
        ("breakpoint_add", {"path": "shop.py", "line": "four"}, "line"),
        ("breakpoint_add", {"path": "shop.py", "line": 99}, "8 lines"),
        ("breakpoint_add", {"path": "shop.py", "lin": 4}, "did you mean 'line'?"),
        ("debug_list_variables", {"scope": "locals"}, "did you mean 'local'?"),
    ],
)
def test_03_wrong_parameters_are_named_and_said_how_to_mend(agent, tool, given, said):
    error = agent.error(tool, **given)
    assert error["code"] in ("E_INVALID_PARAMS", "E_MISSING_REQUIRED_PARAM", "E_INVALID_LINE")
    assert said in f"{error['message']} {error['hint']}"


def test_04_tools_work_together_and_each_uses_what_another_said(agent):
    assert agent.error("debug_evaluate", expression="amount")["code"] == "E_NO_SESSION"
    agent.data("breakpoint_add", path="shop.py", line=4)
    stopped = agent.data("debug_start", program="shop.py")
    assert (stopped["state"], stopped["frames"][0]["name"]) == ("paused", "total")
    top, caller = (one["id"] for one in stopped["frames"][:2])
    assert agent.data("debug_evaluate", expression="price", frameId=top)["result"] == "2"
    assert agent.error("debug_evaluate", expression="price", frameId=caller)["code"] == "E_INVALID_EXPRESSION"
    (scope, *_) = agent.data("debug_scopes", frameId=top)["scopes"]
    found = agent.data("debug_get_variable", variablesReference=scope["variablesReference"])["variables"]
    assert {one["name"]: one["value"] for one in found}["amount"] == "0"
    assert agent.data("variable_list")["scopes"]
    again = agent.data("debug_continue")
    assert agent.data("debug_evaluate", expression="amount", frameId=again["frames"][0]["id"])["result"] == "2"
    assert agent.error("debug_evaluate", expression="amount", frameId=top)["code"] == "E_STALE_REFERENCE"
    agent.data("breakpoint_clear_project")
    ended = agent.data("debug_continue")
    assert (ended["state"], ended["exitCode"], ended["output"]) == ("terminated", 0, "total 10\n")


def test_05_an_error_says_what_to_do_and_doing_it_helps(agent):
    error = agent.error("debug_evaluate", expression="amount")
    assert error["code"] == "E_NO_SESSION"
    assert error["hint"] == "start a debug session first using debug_start"
    agent.data("breakpoint_add", path="shop.py", line=5)
    remedy = next(name for name in agent.tools() if name == error["hint"].split()[-1])
    agent.data(remedy, program="shop.py")
    assert agent.data("debug_evaluate", expression="amount")["result"] == "10"


def add_script(desk):
    folder = desk.workspace / ".binnacle" / "scripts"
    folder.mkdir(parents=True)
    (folder / "deploy.check.meta.yaml").write_text(METADATA)
    program = folder / "deploy.check.sh"
    program.write_text(SCRIPT)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_06_a_script_with_its_metadata_becomes_a_tool(desk, agent):
    assert "deploy_check" not in agent.tools()
    add_script(desk)
    assert desk.bn("script", "build")["problems"] == []
    desk.bn("trust", "deploy.check", "--yes")
    with desk.agent() as another:
        tool = another.tools()["deploy_check"]
    assert tool["description"] == "Says whether an environment is healthy. Use it before a change."
    assert tool["inputSchema"]["required"] == ["environment"]
    assert tool["inputSchema"]["properties"] == {
        "environment": {"enum": ["production", "staging"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    }


OWN = """\
#!/bin/sh
echo "50% half way" >&2
sleep 60
"""


def test_a_script_of_the_project_tells_how_far_it_is_and_ends_with_all_it_started_when_cancelled(desk):
    add_script(desk)
    folder = desk.workspace / ".binnacle" / "scripts"
    (folder / "deploy.check.sh").write_text(OWN)
    (folder / "deploy.check.meta.yaml").write_text(METADATA.replace("timeout: 300", "timeout: 60000"))
    desk.bn("trust", "deploy.check", "--yes")
    with desk.agent() as agent:
        params = {"name": "deploy_check", "arguments": {"environment": "staging"}, "_meta": {"progressToken": 1}}
        agent.send(request("slow", "tools/call", params))
        while (heard := agent.read()).get("method") != "notifications/progress":
            pass
        assert heard["params"] == {"progressToken": 1, "progress": 50, "total": 100, "message": "half way"}
        wait_until(lambda: any("sleep" in command_of(pid) for pid in desk.stage.processes()))
        agent.cancel("slow")
        wait_until(lambda: not any("sleep" in command_of(pid) for pid in desk.stage.processes()))
        assert agent.error("debug_status")["code"] == "E_NO_SESSION", "the session goes on"


LOUD = """\
#!/bin/sh
i=0
while [ $i -lt 30000 ]; do i=$((i+1)); echo "step $i" >&2; done
echo "100% done" >&2
echo '{"ok": true}'
"""


def test_a_script_that_says_much_is_heard_a_few_times_a_second_and_its_last_word_comes_before_the_answer(desk):
    add_script(desk)
    folder = desk.workspace / ".binnacle" / "scripts"
    (folder / "deploy.check.sh").write_text(LOUD)
    (folder / "deploy.check.meta.yaml").write_text(METADATA.replace("timeout: 300", "timeout: 60000"))
    desk.bn("trust", "deploy.check", "--yes")
    with desk.agent() as agent:
        params = {"name": "deploy_check", "arguments": {"environment": "staging"}, "_meta": {"progressToken": 1}}
        agent.send(request("loud", "tools/call", params))
        heard = [agent.read()]
        while heard[-1].get("id") != "loud":
            heard.append(agent.read())
        *notes, answer = heard
        assert answer["result"]["structuredContent"]["data"] == {"ok": True}
        assert notes[-1]["params"] == {"progressToken": 1, "progress": 100, "total": 100, "message": "done"}
        assert 1 < len(notes) < 300, "of 30 001"


def test_07_names_say_what_a_tool_is_about(agent):
    aliases = {one.metadata.tool: alias for alias, one in shipped_scripts().scripts.items()}
    found = [name for name in agent.tools() if name in aliases]
    assert len(found) >= 20
    for name in found:
        assert name.startswith(CATEGORIES)
        assert name == aliases[name].replace(".", "_").replace("-", "_")
    assert agent.data("breakpoint_add", path="shop.py", line=4)["success"], "a name that older systems have"


def test_08_what_must_come_first_is_said_by_the_tools_and_by_their_errors(agent):
    tools = agent.tools()
    scripts = [one.metadata for one in shipped_scripts().scripts.values()]
    dependent = {one.tool for one in scripts if "debug.start" in one.mcp.relationships.requires}
    assert {"debug_continue", "debug_evaluate", "debug_stop"} <= dependent
    for name in dependent & set(tools):
        assert "debug_start" in tools[name]["description"], name
    for name in ("debug_continue", "debug_step_over", "debug_stop", "debug_status"):
        error = agent.error(name)
        assert error["code"] == "E_NO_SESSION"
        assert "debug_start" in error["hint"]
    agent.data("debug_start", program="endless.py", wait=False)
    assert agent.error("debug_continue")["code"] == "E_NOT_PAUSED"


def test_09_what_takes_too_long_times_out(desk):
    add_script(desk)
    desk.bn("trust", "deploy.check", "--yes")
    with desk.agent() as agent:
        agent.data("debug_start", program="endless.py", wait=False)
        error = agent.error("debug_wait_for_hit", timeoutMs=100)
        assert (error["code"], error["retryable"], error["details"]["state"]) == ("E_TIMEOUT", True, "running")
        assert "debug_wait_for_hit" in error["hint"]
        assert agent.error("deploy_check", environment="staging")["code"] == "E_TIMEOUT", "as its metadata says"
        assert agent.data("debug_pause")["state"] == "paused"


def test_10_a_cancelled_call_ends_and_leaves_no_job(desk, agent):
    agent.data("debug_start", program="endless.py", wait=False)
    number = agent.begin("debug_wait_for_hit", timeoutMs=60_000)
    wait_until(desk.jobs)
    agent.cancel(number)
    wait_until(lambda: not desk.jobs())
    assert agent.ask(request("ping", "ping"))["result"] == {}
    assert agent.ask(call("next", "debug_pause"))["result"]["structuredContent"]["data"]["state"] == "paused"
    assert not agent.has_answered(number), "MCP has no answer for what was cancelled"
