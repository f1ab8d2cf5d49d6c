"""A tool that is not there, because of its server: the answer is about that server, and never names another's tool."""

from typing import Any

import pytest

from scenarios.agents import Agent, StdioAgent
from server.clients import wait_for
from server.upstreams.servers import Servers, rogue, wait_for_tool


def beside_stage(servers: Servers, prod: dict[str, Any] | None) -> None:
    """A server with the same tools under another name, and `prod`, the one that is meant."""
    servers(stage=rogue(), **({"prod": prod} if prod else {}))


def about_prod(agent: Agent, tool: str = "mcp_prod_echo") -> dict[str, Any]:
    wait_for_tool(agent, "mcp_stage_echo")
    error = agent.fails(tool)
    assert "stage" not in str(error)
    return error


class TestServersThatAreNotUp:
    def test_down(self, connect, servers: Servers):
        beside_stage(servers, rogue("crash"))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_stage_echo")
        wait_for(lambda: "the vault" in agent.fails("mcp_prod_echo")["message"], "it is never down")
        error = about_prod(agent)
        assert error["code"] == "E_UPSTREAM_DOWN"
        assert error["details"]["state"] in ("failed", "connecting")
        assert "cannot open the vault" in error["message"]
        assert error["hint"]

    def test_disabled(self, connect, servers: Servers):
        beside_stage(servers, rogue(enabled=False))
        error = about_prod(connect())
        assert "prod is disabled" in error["message"]
        assert "bn upstream enable prod" in error["hint"]

    def test_not_trusted(self, connect, servers: Servers):
        beside_stage(servers, None)
        servers.in_project(prod=rogue())
        error = about_prod(connect(), "prod:echo")
        assert "prod is not trusted" in error["message"]
        assert "bn trust server:prod" in error["hint"]

    def test_configured_wrongly(self, connect, servers: Servers):
        beside_stage(servers, rogue(env={"KEY": "${NOT_THERE}"}))
        error = about_prod(connect())
        assert "prod is configured wrongly" in error["message"]
        assert "NOT_THERE" in error["message"]
        assert error["details"] == {"server": "prod", "state": "broken"}

    def test_not_configured_at_all(self, connect, servers: Servers):
        beside_stage(servers, None)
        error = about_prod(connect())
        assert error["code"] == "E_NOT_FOUND"
        assert "no server that it is of" in error["message"]

    def test_through_tool_call_it_is_the_same(self, bn, servers: Servers, write_recipe):
        beside_stage(servers, rogue(enabled=False))
        write_recipe("finding", "description: finds\ntools: [tool_search, tool_call]\nupstreams: true\n")
        with StdioAgent(bn, "--recipe", "finding", env={}) as agent:
            error = agent.fails("tool_call", name="mcp_prod_echo", arguments={})
            assert "prod is disabled" in error["message"]


class TestServersThatAreUp:
    def test_only_its_own_tools_are_suggested(self, connect, servers: Servers):
        servers(stage=rogue("more=report"), prod=rogue())
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_prod_echo")
        wait_for_tool(agent, "mcp_stage_report")
        assert "stage" not in str(agent.fails("mcp_prod_report"))
        error = agent.fails("mcp_prod_ecko")
        assert error["message"] == "prod offers no tool 'ecko'"
        assert error["hint"] == "did you mean 'mcp_prod_echo'?"

    def test_a_mistyped_tool_of_our_own_leads_to_no_other_server(self, connect, servers: Servers):
        servers(stage=rogue("more=task_lists"))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_stage_task_lists")
        assert agent.fails("task_lists")["hint"] == "did you mean 'task_list'?"


@pytest.mark.parametrize("name", ["prod:echo", "mcp_prod_echo"])
def test_a_command_says_the_same(bn, servers: Servers, name: str):
    beside_stage(servers, rogue("crash"))
    error = bn.fails("upstream", "call", name)
    assert error["code"] == "E_UPSTREAM_DOWN"
    assert "cannot open the vault" in error["message"]
    assert "stage" not in str(error)


@pytest.mark.parametrize("name", ["prod:ecko", "mcp_prod_ecko"])
def test_a_command_suggests_only_its_own_tools(bn, servers: Servers, name: str):
    servers(stage=rogue("more=ecko"), prod=rogue())
    error = bn.fails("upstream", "call", name)
    assert error["hint"] == f"did you mean {name.replace('k', 'h')!r}?"
