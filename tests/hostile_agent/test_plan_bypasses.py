"""Ways around the plan of a session that were found, each of which worked once."""

import json
import subprocess

import pytest

from server.clients import wait_for
from server.test_upstream_content import flag, prompt_names, refused, until_there, uris


def test_a_shell_in_a_loop_deletes_no_task(bn, hostile):
    other = bn.add("Somebody's")
    error = hostile(recipe="loop").bn("task", "delete", other).error
    assert (error["code"], error["message"]) == ("E_TOOL_DISABLED", "task_delete is not enabled in this session")
    assert error["hint"]
    assert bn("task", "show", other)["task"]["id"] == other


def test_a_shell_of_one_task_finishes_no_other(bn, hostile):
    own, other = bn.add("Own"), bn.add("Somebody's")
    agent = hostile(recipe="task", task_id=own)
    error = agent.bn("task", "done", other).error
    assert error["code"] == "E_REFUSED"
    assert "is not the task of this session" in error["message"]
    assert agent.bn("task", "done", other, "--force").error["code"] in ("E_REFUSED", "E_INVALID_PARAMS")
    for ids in ([own, other], [other, own]):
        assert agent.bn("task", "done", *ids).error["code"] == "E_REFUSED", "nor among several"
    assert bn("task", "show", own)["task"]["status"] == "pending"
    assert bn("task", "show", other)["task"]["status"] == "pending"
    assert agent.bn("task", "start", own).code == 0
    assert agent.bn("task", "done", own, "-m", "works").code == 0


def test_limits_on_parameters_hold_for_options(bn, hostile):
    task = bn.add("One", "-d", "as it was")
    agent = hostile(recipe="review")
    error = agent.bn("task", "update", task, "--title", "Another").error
    assert (error["code"], error["details"]["parameter"]) == ("E_INVALID_PARAMS", "title")
    for tag in ("+mine", "-urgent", "-sky"):
        error = agent.bn("task", "update", task, tag).error
        assert (error["code"], error["details"]["parameter"]) == ("E_INVALID_PARAMS", "tags")
    assert agent.bn("task", "update", task, "-p", "high").code == 0
    assert bn("task", "show", task)["task"]["title"] == "One"


@pytest.mark.parametrize("option", ["--hints", "--pseudocode", "--feature", "--discipline", "--parent", "--title"])
def test_clearing_a_field_is_changing_it(bn, hostile, option):
    task = bn.add("One", "--hints", "look twice", "--pseudocode", "1. look")
    error = hostile(recipe="review").bn("task", "update", task, option, "").error
    assert (error["code"], error["details"]["parameter"]) == ("E_INVALID_PARAMS", option.lstrip("-"))
    assert bn("task", "show", task)["task"]["hints"] == "look twice"


def test_new_tasks_are_what_the_recipe_makes_them(bn, hostile):
    agent = hostile(recipe="brainstorm")
    for words in (["--status", "pending"], []):
        assert agent.bn("task", "add", f"Thought {len(words)}", *words).code == 0
    assert {task["status"] for task in bn("task", "list")["tasks"]} == {"draft"}


@pytest.mark.parametrize(
    "words",
    [
        "config set claim.minutes 1",
        "config set claim.minutes 1 --user",
        "upstream add docs docs-server --user",
        "run --agent true",
        "trust --yes",
        "plan launch claude",
        "mcp token add x",
    ],
)
def test_what_is_left_to_people_is_refused_to_every_session(bn, hostile, words):
    agent = hostile(recipe="default")
    error = agent.bn(*words.split()).error
    assert error["code"] == "E_PERSON_NEEDED", error
    assert error["hint"]
    assert agent.bn(*words.split(), BN_SESSION=None).error["code"] == "E_PERSON_NEEDED"


@pytest.mark.parametrize("env", [{"BN_SESSION": None}, {"BN_SESSION": ""}, {"BN_SESSION": None, "BN_AGENT_ID": "other"},
                                 {"BN_SESSION": None, "BN_MCP_SESSION": "mcp-1"}])  # fmt: skip
def test_variables_take_nobody_out_of_their_session(bn, hostile, env):
    task = bn.add("Somebody's")
    other = bn.agent("somebody")
    env = {name: other["BN_AGENT_ID"] if value == "other" else value for name, value in env.items()}
    agent = hostile(recipe="loop")
    assert agent.bn("task", "delete", task, **env).error["code"] == "E_TOOL_DISABLED"
    assert agent.bn("delete", task, **env).error["code"] == "E_TOOL_DISABLED", "a short form is the same command"
    added = json.loads(agent.bn("task", "add", "Found on the way", **env).out)["tasks"][0]["id"]
    assert bn("log", "--of", added)["events"][0]["actor"] == agent.session, "it acts as its session"


@pytest.mark.parametrize("env", [{}, {"BN_SESSION": None}])
def test_a_session_changes_nothing_in_another_project(bn, hostile, tmp_path, env):
    there = ("-C", str(tmp_path / "another"))
    fresh = ("-C", str(tmp_path / "fresh"))
    for _, folder in (there, fresh):
        subprocess.run(["git", "init", "--quiet", folder], check=True, timeout=60)
    task = bn(*there, "task", "add", "Somebody's")["tasks"][0]["id"]
    agent = hostile(recipe="loop")
    for words in (
        [*there, "task", "delete", task],
        [*there, "tool", "task_delete", json.dumps({"id": task})],
        [*fresh, "task", "add", "x"],
    ):
        error = agent.bn(*words, **env).error
        assert error["code"] == "E_REFUSED", words
        assert agent.session in error["message"]
    assert agent.bn(*there, "task", "list", **env).code == 0, "reading is free"
    assert [one["action"] for one in bn(*there, "log")["events"]] == ["added"]


def test_no_server_with_more_is_started_in_the_shell_of_a_session(bn, hostile):
    agent, another = hostile(recipe="loop"), hostile(recipe="default")
    assert agent.bn("mcp", "serve", "--recipe", "default").error["code"] == "E_PERSON_NEEDED"
    assert agent.bn("mcp", "serve", "--recipe", "default", BN_SESSION=None).error["code"] == "E_PERSON_NEEDED"
    assert agent.bn("mcp", "serve", "--session", another.session, BN_SESSION=None).error["code"] == "E_PERSON_NEEDED"
    assert agent.bn("mcp", "serve").code == 0


def test_a_tool_called_from_a_shell_is_held_to_the_plan(bn, hostile):
    own, other = bn.add("Own"), bn.add("Somebody's")
    agent = hostile(recipe="task", task_id=own)
    for tool, given, code in (
        ("task_delete", {"id": other}, "E_TOOL_DISABLED"),
        ("task_status", {"id": other, "status": "done"}, "E_REFUSED"),
    ):
        done = agent.bn("tool", tool, json.dumps(given))
        assert json.loads(done.out)["error"]["code"] == code
    assert bn("task", "show", other)["task"]["status"] == "pending"


@pytest.mark.usefixtures("denied")
class TestDenials:
    @pytest.fixture
    def denied(self, bn) -> None:
        bn("discipline", "add", "reader", "--deny", "task_*", "--deny", "queue_*")

    def test_they_hold_for_commands_that_are_passed_through(self, bn, client):
        task = bn.add("Somebody's")
        talk = client().pipe(options=("--discipline", "reader"))
        talk.data("binnacle-set_agent", path=str(bn.repo))
        for words in (["task", "add", "x"], ["task", "delete", task], ["queue", "add", task], ["next", "--claim"]):
            ran = talk.data("bn_run", args=words)
            error = json.loads(ran["stderr"])["error"]
            assert (error["code"], bool(error["hint"])) == ("E_TOOL_DISABLED", True), words
        assert [one["title"] for one in bn("task", "list")["tasks"]] == ["Somebody's"]
        assert talk.data("bn_run", args=["note", "add", "may be kept"])["exit_code"] == 0

    def test_they_hold_in_the_shell(self, bn, hostile):
        agent = hostile(recipe="default", discipline="reader")
        assert agent.bn("task", "add", "x").error["code"] == "E_TOOL_DISABLED"
        assert agent.bn("tool", "task_add", '{"tasks": [{"title": "x"}]}').code == 1
        assert bn("task", "list")["tasks"] == []

    @pytest.mark.parametrize("words", [["--deny", ""], ["--upstreams", ""], ["--title", "Free"]])
    def test_no_session_changes_what_binds_it(self, bn, hostile, words):
        agent = hostile(recipe="default", discipline="reader")
        assert agent.bn("discipline", "update", "reader", *words).error["code"] == "E_PERSON_NEEDED"
        assert agent.bn("discipline", "delete", "reader").error["code"] == "E_PERSON_NEEDED"
        assert bn("discipline", "show", "reader")["discipline"]["denied_tools"] == ["task_*", "queue_*"]

    def test_nor_by_the_tool_of_the_recipe_that_shapes_disciplines(self, bn, client):
        talk = client().pipe(options=("--recipe", "disciplines", "--discipline", "reader"))
        bn("discipline", "add", "writer")
        for change in ({"denied_tools": []}, {"upstreams": {"x": {"command": "sh"}}}, {"title": "Free"}):
            error = talk.error("update_discipline", name="reader", **change)
            assert (error["code"], bool(error["hint"])) == ("E_PERSON_NEEDED", True)
        assert talk.error("update_discipline", name="writer", denied_tools=["task_add"])["code"] == "E_PERSON_NEEDED"
        talk.data("update_discipline", name="writer", title="The Writer")


def test_a_server_that_is_denied_has_no_resources_and_prompts_either(bn, connect):
    bn("discipline", "add", "deaf", "--deny", "mcp_docs_*")
    agent = connect("--discipline", "deaf", *flag("docs"), *flag("music"))
    until_there(agent, "music")
    wait_for(lambda: '"state":"ready"' in _standing(agent, "docs"), "docs does not connect")
    assert "memo://docs/own" not in uris(agent)
    assert not [name for name in prompt_names(agent) if "docs" in name]
    assert refused(agent, "resources/read", {"uri": "memo://docs/own"})["message"]
    assert not [name for name in agent.tools() if name.startswith("mcp_docs_")]


def _standing(agent, server: str) -> str:
    status = json.loads(agent.ask("resources/read", {"uri": "binnacle://status"})["contents"][0]["text"])
    found = [one for one in status.get("upstreams", ()) if one.get("name") == server]
    return json.dumps(found, separators=(",", ":"))


class TestRecipes:
    def test_a_session_does_not_widen_its_own_recipe(self, bn, hostile, write_recipe):
        write_recipe("mine", "description: mine\ntools: [get_task]\n")
        agent = hostile(recipe="mine")
        write_recipe("mine", 'description: mine\ntools: [get_task, task_add]\ncommands: ["*"]\n')
        assert agent.bn("task", "add", "x").error["code"] == "E_TOOL_DISABLED"
        bn("plan", "renew", agent.session)
        assert agent.bn("task", "add", "x").code == 0

    def test_a_limit_that_is_taken_out_of_the_file_still_holds(self, bn, hostile, write_recipe):
        own, other = bn.add("Own"), bn.add("Somebody's")
        write_recipe("mine", "description: mine\ntools:\n  - task_status: {task: own}\n")
        agent = hostile(recipe="mine", task_id=own)
        write_recipe("mine", "description: mine\ntools: [task_status]\n")
        assert agent.bn("task", "done", other).error["code"] == "E_REFUSED"

    def test_a_served_session_does_not_widen_either(self, client, write_recipe):
        write_recipe("mine", "description: mine\ntools: [get_task, list_tasks]\n")
        talk = client().pipe(options=("--recipe", "mine"))
        assert list(talk.tools()) == ["get_task", "list_tasks"]
        write_recipe("mine", "description: mine\ntools: [list_tasks, task_add]\n")
        while "get_task" in talk.tools():  # bounded by the client's own patience
            talk.data("list_tasks")
        assert list(talk.tools()) == ["list_tasks"]
        assert talk.error("task_add", tasks=[{"title": "x"}])["code"] == "E_TOOL_DISABLED"


def test_an_unplanned_agent_is_under_the_projects_own_default(bn, client, write_recipe):
    write_recipe("default", "extends: default\nwithout: [task_add]\ncommands: []\n")
    one = client()
    one.pipe().data("task_list")
    one.pipe("b").data("note_add", notes=[{"content": "so that it is known"}])
    done = one.shell("task", "add", "x")
    assert json.loads(done["err"])["error"]["code"] == "E_TOOL_DISABLED"
    assert bn("task", "add", "a person's")["tasks"]
