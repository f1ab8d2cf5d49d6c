"""Denials: a slip in a name is found when it is made, and only a person makes one."""

import msgspec
import pytest

from binnacle.tools.caller import Caller
from binnacle.work.actor import Actor
from binnacle.work.session import Session

PERSON = Caller(session=Session(actor=Actor("ann")))


def by_person(tools, tool, /, **arguments):
    outcome = tools.outcome(tool, by=PERSON, **arguments)
    assert not outcome.is_error, outcome.text
    return msgspec.json.decode(msgspec.json.encode(outcome.envelope))["data"]


@pytest.mark.parametrize("field", [{"denied_tools": ["task_add"]}, {"upstreams": {"docs": {"command": "sh"}}}])
def test_an_agent_says_neither_what_is_denied_nor_which_servers_there_are(tools, field):
    tools("discipline_add", name="poetry")
    for tool, name in (("discipline_add", "prose"), ("discipline_update", "poetry")):
        error = tools.fails(tool, name=name, **field)
        assert (error["code"], bool(error["hint"])) == ("E_PERSON_NEEDED", True)
    by_person(tools, "discipline_update", name="poetry", **field)
    assert tools.fails("discipline_delete", name="poetry")["code"] == "E_PERSON_NEEDED"


@pytest.mark.parametrize(("tool", "name"), [("discipline_add", "prose"), ("update_discipline", "poetry")])
def test_a_denial_of_no_tool_is_refused_with_the_nearest_name(tools, tool, name):
    tools("discipline_add", name="poetry")
    error = tools.fails(tool, name=name, denied_tools=["debug_*", "delete_tsk"])
    assert (error["code"], error["hint"]) == ("E_INVALID_PARAMS", "did you mean 'delete_task'?")
    found = tools("discipline_list")["disciplines"]
    assert [(one["name"], one.get("denied_tools")) for one in found] == [("poetry", None)]


def test_names_aliases_and_patterns_are_kept_as_given(tools):
    made = by_person(
        tools, "create_discipline", name="poetry", denied_tools=["task_add", "delete_task", "bn_run", "debug_*"]
    )
    assert made["discipline"]["denied_tools"] == ["task_add", "delete_task", "bn_run", "debug_*"]
    changed = tools("discipline_update", name="poetry", title="Verse")
    assert changed["discipline"]["denied_tools"] == ["task_add", "delete_task", "bn_run", "debug_*"]


def test_its_servers_are_shown_and_checked(tools):
    by_person(tools, "discipline_add", name="poetry", mcp_servers={"docs": {"command": "docs-server"}})
    assert "upstreams: docs" in tools.outcome("discipline_get", name="poetry").text
    wrong = tools.outcome("discipline_update", by=PERSON, name="poetry", upstreams={"docs": 7})
    assert wrong.envelope["error"]["code"] == "E_INVALID_PARAMS"
