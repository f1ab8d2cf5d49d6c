"""Scenarios about what a session may see: recipes, disciplines, and plans that change."""

import re

import pytest

on_each_transport = pytest.mark.parametrize(
    "transport", [pytest.param([], id="stdio"), pytest.param(["--http", "127.0.0.1:0"], id="http")]
)
"""For servers that do not come far enough for an agent to connect."""


def test_33_a_persona_without_a_right(connect, bn):
    bn("discipline", "add", "reader", "--deny", "set_task_status", "--deny", "append_*", "--system-prompt",
       "You read. You never call set_task_status yourself.")  # fmt: skip
    task = bn.add("One", "--discipline", "reader")
    agent = connect("--recipe", "task", "--task", task)
    denied = {"set_task_status", "append_learning", "append_progress"}
    assert not denied & set(agent.tools())
    assert not denied & set(re.findall(r"[\w-]+", agent.prompt()))
    assert "You read." in agent.prompt()
    assert "last message" in agent.prompt(), "what must be said at the end is still said somewhere"
    for tool in ("set_task_status", "task_status"):
        assert agent.fails(tool, id=task, status="done")["code"] == "E_TOOL_DISABLED"
    assert bn("task", "show", task)["task"]["status"] == "pending"


def test_34_a_discipline_is_edited_while_its_session_is_served(connect, bn):
    bn("discipline", "add", "reader")
    agent = connect("--recipe", "chat", "--discipline", "reader")
    assert "create_task" in agent.tools()
    with agent.told_of_change():
        bn("discipline", "update", "reader", "--deny", "create_task")
    assert "create_task" not in agent.tools()
    assert agent.fails("create_task", title="One")["code"] == "E_TOOL_DISABLED"
    with agent.told_of_change():
        bn("discipline", "update", "reader", "--deny", "")
    agent("create_task", title="One")
    assert [task["title"] for task in bn("task", "list")["tasks"]] == ["One"]


def test_35_two_sessions_at_once_with_different_recipes(connect, bn, sessions):
    one, two = bn.add("One"), bn.add("Two")
    executor = connect("--recipe", "task", "--task", one)
    reporter = connect("--recipe", "report", "--task", two)
    assert set(executor.tools()) & set(reporter.tools()) == {"get_task"}
    assert one in executor.prompt()
    assert two not in executor.prompt()
    reporter("report_done", summary="two is done")
    assert executor.fails("report_done", summary="so is one")["code"] == "E_TOOL_DISABLED"
    assert executor.fails("set_task_status", id=two, status="cancelled", reason="x")["code"] == "E_REFUSED"
    reporter.leave()
    assert bn("task", "show", two)["task"]["closed_reason"] == "two is done"
    executor("set_task_status", status="in_progress")
    assert [(session.recipe, session.status) for session in sessions()] == [
        *[("task", "active"), ("report", "complete")]
    ]


@on_each_transport
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("description: x\ntools: [get_task, get_tsk]\n", "mine.yaml:2: no tool 'get_tsk'"),
        ("description: x\ntool: [get_task]\n", "mine.yaml:2: unknown key 'tool'"),
        ("description: x\nextends: lop\n", "mine.yaml:2: no recipe 'lop'"),
    ],
)
def test_36_a_recipe_with_a_mistake_in_it(bn, write_recipe, sessions, transport, text, said):
    write_recipe("mine", text)
    error = bn.fails("mcp", "serve", *transport, "--recipe", "mine")
    assert error["code"] == "E_CONFIG"
    assert said in error["message"]
    assert "did you mean" in error["hint"]
    assert sessions() == []


def test_37_a_recipe_is_edited_while_its_session_is_served(connect, bn, write_recipe):
    write_recipe("mine", "description: mine\nextends: chat\n")
    agent = connect("--recipe", "mine")
    agent("create_task", title="One")
    with agent.told_of_change():
        write_recipe("mine", "description: mine\nextends: chat\nwithout: [create_task]\n")
    assert "create_task" not in agent.tools()
    assert agent.fails("create_task", title="Two")["code"] == "E_TOOL_DISABLED"
    assert [task["title"] for task in bn("task", "list")["tasks"]] == ["One"]


def test_38_a_plan_is_edited_by_hand(connect, bn, planned):
    task = bn.add("One")
    session, folder = planned("report", task)
    context = folder / "context.json"
    context.write_text(context.read_text().replace('"report_done"', '"task_delete"', 1))
    error = bn.fails("mcp", "serve", "--session", session)
    assert error["code"] == "E_REFUSED"
    assert "task_delete" in error["message"]
    assert error["details"]["file"] == str(context)
    bn("plan", "renew", session)
    agent = connect("--session", session)
    assert "report_done" in agent.tools()
    assert agent.fails("task_delete", id=task)["code"] == "E_TOOL_DISABLED"
    assert [one["title"] for one in bn("task", "list")["tasks"]] == ["One"]


def test_39_a_session_goes_on_after_its_server_was_killed(connect, bn, planned, sessions):
    task = bn.add("One")
    session, _ = planned("task", task)
    agent = connect("--session", session, **bn.agent("agent-1"))
    fence = agent("set_task_status", status="in_progress")["fence"]
    agent("add_task_comment", task_id=task, body="half of it is there")
    agent.kill()
    agent = connect("--session", session, **bn.agent("agent-1"))
    assert "half of it is there" in agent.prompt()
    agent("set_task_status", status="done", reason="the other half, too", fence=fence)
    found = bn("task", "show", task)["task"]
    assert (found["status"], found["closed_reason"]) == ("done", "the other half, too")
    assert [one.id for one in sessions()] == [session]


def test_40_a_discipline_is_deleted_while_a_session_has_it(connect, bn, write_recipe):
    write_recipe("staff", "description: who works here\ntools: [list_disciplines, delete_discipline]\n")
    bn("discipline", "add", "reader")
    working = connect("--recipe", "chat", "--discipline", "reader")
    error = connect("--recipe", "staff").fails("delete_discipline", name="reader")
    assert error["code"] == "E_REFERENCED"
    assert [one["name"] for one in bn("discipline", "list")["disciplines"]] == ["reader"]
    working.leave()
    connect("--recipe", "staff")("delete_discipline", name="reader")
    assert bn("discipline", "list")["disciplines"] == []


@on_each_transport
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--recipe", "enrichmnt"], "did you mean 'enrichment'?"),
        (["--recipe", "chat", "--discipline", "raeder"], "did you mean 'reader'?"),
        (["--recipe", "chat", "--feature", "auht"], "did you mean 'auth'?"),
        (["--recipe", "chat", "--task", "bn-ffff"], "bn task list"),
        (["--session", "bns-ffff"], ""),
    ],
)
def test_41_a_session_about_nothing_that_exists(bn, sessions, transport, words, hint):
    bn("discipline", "add", "reader")
    bn("feature", "add", "auth")
    error = bn.fails("mcp", "serve", *transport, *words)
    assert error["code"] == "E_NOT_FOUND"
    assert hint in error["hint"]
    assert sessions() == []
