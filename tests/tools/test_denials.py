"""Denials given by agents: a slip in a name is found when it is made."""

import pytest


@pytest.mark.parametrize(("tool", "name"), [("discipline_add", "prose"), ("update_discipline", "poetry")])
def test_a_denial_of_no_tool_is_refused_with_the_nearest_name(tools, tool, name):
    tools("discipline_add", name="poetry")
    error = tools.fails(tool, name=name, denied_tools=["debug_*", "delete_tsk"])
    assert (error["code"], error["hint"]) == ("E_INVALID_PARAMS", "did you mean 'delete_task'?")
    found = tools("discipline_list")["disciplines"]
    assert [(one["name"], one.get("denied_tools")) for one in found] == [("poetry", None)]


def test_names_aliases_and_patterns_are_kept_as_given(tools):
    made = tools("create_discipline", name="poetry", denied_tools=["task_add", "delete_task", "bn_run", "debug_*"])
    assert made["discipline"]["denied_tools"] == ["task_add", "delete_task", "bn_run", "debug_*"]
    changed = tools("discipline_update", name="poetry", title="Verse")
    assert changed["discipline"]["denied_tools"] == ["task_add", "delete_task", "bn_run", "debug_*"]


def test_its_servers_are_shown_and_checked(tools):
    tools("discipline_add", name="poetry", mcp_servers={"docs": {"command": "docs-server"}})
    assert "upstreams: docs" in tools.outcome("discipline_get", name="poetry").text
    assert tools.fails("discipline_update", name="poetry", upstreams={"docs": 7})["code"] == "E_INVALID_PARAMS"
