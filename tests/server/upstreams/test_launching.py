"""Launchers that fetch packages before the server runs, as `npx -y …` does on its first start."""

import json
from pathlib import Path
from typing import Any

from binnacle.upstream.supervisor import LAUNCHING
from scenarios.agents import Agent
from server.clients import wait_for
from server.upstreams.servers import Servers, launched, said, wait_for_tool


def standing(agent: Agent, name: str) -> dict[str, Any]:
    """How a server stands, as agents can read it."""
    (content,) = agent.ask("resources/read", {"uri": "binnacle://status"})["contents"]
    return {one["name"]: one for one in json.loads(content["text"])["upstreams"]}[name]


def test_a_session_shows_that_a_launcher_works_and_then_has_its_tools(connect, servers: Servers, tmp_path: Path):
    gate = tmp_path / "gate"
    servers(slow=launched("noise", gate))
    agent: Agent = connect()
    wait_for(lambda: "upstreams" in str(agent.ask("resources/read", {"uri": "binnacle://status"})), "no servers")
    wait_for(lambda: standing(agent, "slow").get("reason") == LAUNCHING, "it is not shown")
    gate.touch()
    wait_for_tool(agent, "mcp_slow_echo")
    assert said(agent, "mcp_slow_echo", "hi") == "hi"
    assert (servers.folder / "logs" / "slow.log").read_text().count("--- started") == 1


def test_doctor_waits_for_a_launcher_that_works(bn, servers: Servers):
    servers(slow=launched("noise", 6))
    done = bn.run("upstream", "doctor")
    assert done.code == 0, done.out
    assert done.json["servers"][0]["state"] == "ready"
