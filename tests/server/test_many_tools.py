"""Servers with more tools than an agent should pay for: what is listed, and how the rest is reached."""

import json
import sys
from pathlib import Path

import pytest

from binnacle.plan.token_count import count
from cli.conftest import bn  # noqa: F401 - fixtures, all of them
from scenarios.agents import Agent
from scenarios.conftest import connect, write_recipe  # noqa: F401
from server.clients import wait_for

STOCKED = str(Path(__file__).with_name("stocked.py"))
FINDERS = ["tool_search", "tool_call"]
BUDGET = 10_000


def command(*words: str) -> list[str]:
    return [sys.executable, STOCKED, *words]


def flag(name: str, *words: str) -> tuple[str, str]:
    return "--mcp-server", f"{name}={' '.join(command(*words))}"


def until_listed(agent: Agent, name: str) -> dict[str, dict]:
    """The tools, once a certain one is among them."""
    wait_for(lambda: name in agent.tools(), f"{name} is never listed")
    return agent.tools()


def tokens(agent: Agent) -> int:
    return count(json.dumps(list(agent.tools().values()), separators=(",", ":"), ensure_ascii=False))


def own_names(bn) -> list[str]:  # noqa: F811
    return [tool["name"] for tool in bn("plan", "show", "default")["tools"]]


def test_five_hundred_tools_stay_within_the_budget_and_are_called_in_two_steps(bn, connect):  # noqa: F811
    agent = connect(*flag("many", "--tools", "500"))
    tools = until_listed(agent, "tool_search")
    assert tokens(agent) <= BUDGET
    assert list(tools)[: len(own_names(bn))] == own_names(bn)
    assert list(tools)[-2:] == FINDERS
    assert "mcp_many_invoice_0" in tools, "what fits is listed"
    assert "mcp_many_violin_499" not in tools
    found = agent("tool_search", query="violin number 499")["tools"]
    assert found[0]["name"] == "mcp_many_violin_499"
    assert found[0]["required"] == ["place"]
    called = agent.result("tool_call", name=found[0]["name"], arguments={"place": "attic"})
    assert called["content"] == [{"type": "text", "text": 'violin_499 {"place": "attic"}'}]
    assert "structuredContent" not in called, "as its server answered it"
    direct = agent.result("mcp_many_violin_499", place="cellar")
    assert direct["content"][0]["text"] == 'violin_499 {"place": "cellar"}'
    assert agent("tool_call", name="project_info"), "any tool of the session"
    assert agent.fails("tool_call", name="mcp_many_nothing")["code"] == "E_NOT_FOUND"
    assert agent.fails("tool_call", name="tool_call")["code"] == "E_REFUSED"


def test_few_tools_are_all_listed_and_nothing_is_to_be_found(bn, connect):  # noqa: F811
    agent = connect(*flag("few", "--tools", "10"))
    tools = until_listed(agent, "mcp_few_violin_9")
    assert len([name for name in tools if name.startswith("mcp_few_")]) == 14
    assert not set(FINDERS) & set(tools)
    assert agent.fails("tool_search", query="violin")["code"] == "E_TOOL_DISABLED"


def test_what_was_used_lately_stays_listed(bn, connect):  # noqa: F811
    words = flag("many", "--tools", "500")
    agent = connect(*words)
    assert "mcp_many_violin_499" not in until_listed(agent, "tool_search")
    agent.result("tool_call", name="mcp_many_violin_499", arguments={"place": "attic"})
    assert "mcp_many_violin_499" not in agent.tools(), "a list that changes at every call costs more than it saves"
    tools = until_listed(connect(*words), "mcp_many_violin_499")
    assert "mcp_many_violin_499" in tools
    assert "mcp_many_violin_494" not in tools


def test_a_tool_that_is_allowed_by_its_name_stays_listed(bn, connect):  # noqa: F811
    entry = {"command": sys.executable, "args": command("--tools", "500")[1:], "tools": {"allow": ["*", "pigeon_497"]}}
    (bn.repo / ".binnacle").mkdir()
    (bn.repo / ".binnacle/mcp.json").write_text(json.dumps({"servers": {"many": entry}}))
    bn("trust", "many", "--yes")
    agent = connect()
    tools = until_listed(agent, "tool_search")
    assert "mcp_many_pigeon_497" in tools
    assert "mcp_many_pigeon_492" not in tools
    assert tokens(agent) <= BUDGET


def test_a_denied_tool_is_neither_found_nor_called(bn, connect):  # noqa: F811
    bn("discipline", "add", "careful", "--deny", "mcp_many_pigeon_*")
    agent = connect("--discipline", "careful", *flag("many", "--tools", "500"))
    assert not [name for name in until_listed(agent, "tool_search") if "pigeon" in name]
    found = agent("tool_search", query="pigeon", limit=50)["tools"]
    assert not [one for one in found if "pigeon" in one["name"]]
    assert agent.fails("tool_call", name="mcp_many_pigeon_497")["code"] == "E_TOOL_DISABLED"
    assert agent.fails("mcp_many_pigeon_497", place="attic")["code"] == "E_TOOL_DISABLED"


def test_a_discipline_may_be_denied_to_search(bn, connect):  # noqa: F811
    bn("discipline", "add", "narrow", "--deny", "tool_call")
    agent = connect("--discipline", "narrow", *flag("many", "--tools", "500"))
    tools = until_listed(agent, "tool_search")
    assert "tool_call" not in tools
    assert "tool_call" not in tools["tool_search"]["description"]
    assert agent.fails("tool_call", name="mcp_many_violin_499")["code"] == "E_TOOL_DISABLED"


@pytest.mark.parametrize("budget", [500, 60_000])
def test_a_recipe_has_a_budget_of_its_own(bn, connect, write_recipe, budget):  # noqa: F811
    write_recipe("default", f"extends: default\ntool_budget: {budget}\n")
    last = "mcp_many_grow"
    agent = connect(*flag("many", "--tools", "500"))
    if budget > BUDGET:
        assert not set(FINDERS) & set(until_listed(agent, last))
    else:
        tools = until_listed(agent, "tool_search")
        assert list(tools) == [*own_names(bn), *FINDERS], "its own tools are listed whatever they cost"
        assert agent("tool_search", query=last)["tools"][0]["name"] == last


def test_a_plan_says_how_much_room_there_is(bn):  # noqa: F811
    plan = bn("plan", "show", "default")
    assert plan["tool_budget"] == {"tokens": BUDGET, "left": BUDGET - plan["tokens"]["tools"]}
    assert "tool_search" in bn.human("plan", "show", "default")
    assert "tool_budget" not in bn("plan", "show", "chat"), "nothing joins it"
    why = {one["recipe"]: one["why"] for one in bn("plan", "explain", "tool_search")["recipes"]}
    assert why["default"] == "only there if the upstream tools do not fit into 10000 tokens"
    assert why["chat"] == "not in the recipe chat"
