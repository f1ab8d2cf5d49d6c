"""codex-acp has its servers in its settings where something is switched off there."""

import json

from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.codex import CODEX_ACP_NAME, takes_servers_by_variable, with_servers
from binnacle.wire import acp

OFF = {"binnacle": {"command": "bn", "enabled": False}}
PLAIN = AgentCommand(name="codex", argv=("codex-acp",))
COMMAND = AgentCommand(
    name="codex",
    argv=("codex-acp",),
    env={"CODEX_CONFIG": json.dumps({"model": "m", "mcp_servers": OFF})},
    servers_variable="CODEX_CONFIG",
)
HTTP = acp.HttpMcpServer(
    name="bns", url="http://127.0.0.1:1/mcp", headers=(acp.NameValue(name="Authorization", value="x"),)
)
STDIO = acp.StdioMcpServer(name="bns", command="bn", args=(), env=())


def test_the_servers_join_those_that_are_switched_off():
    config = json.loads(with_servers(COMMAND, [HTTP, STDIO]).env["CODEX_CONFIG"])
    assert config == {
        "model": "m",
        "mcp_servers": {
            **OFF,
            "bns": {
                "url": "http://127.0.0.1:1/mcp",
                "http_headers": {"Authorization": "x"},
                "required": True,
                "default_tools_approval_mode": "approve",
            },
        },
    }


def test_any_other_agent_gets_them_when_a_session_is_opened():
    assert with_servers(PLAIN, [HTTP]) is PLAIN
    assert not takes_servers_by_variable(PLAIN, acp.Implementation(name=CODEX_ACP_NAME, version="2.6.0"))
    assert not takes_servers_by_variable(COMMAND, acp.Implementation(name="codex-acp", version="0.16.0"))
    assert not takes_servers_by_variable(COMMAND, None)
    assert takes_servers_by_variable(COMMAND, acp.Implementation(name=CODEX_ACP_NAME, version="2.6.0"))
