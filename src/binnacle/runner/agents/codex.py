"""Puts MCP servers for codex-acp into its settings, if its own files name a Binnacle that must be turned off.

The settings are JSON in a variable. Servers in the request that opens a session would replace all servers of the
settings, also the entry that turns one off.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.wire import acp

CODEX_ACP_NAME = "@agentclientprotocol/codex-acp"
"""The name by which the program that reads the variable identifies itself. Other programs of that command do not."""


def with_servers(command: AgentCommand, servers: Sequence[acp.McpServer]) -> AgentCommand:
    """The command with these servers in its variable, if it has one."""
    variable = command.servers_variable
    if not variable:
        return command
    config = json.loads(command.env[variable])
    given = {server.name: _entry(server) for server in servers if isinstance(server, acp.HttpMcpServer)}
    config["mcp_servers"] = {**config.get("mcp_servers", {}), **given}
    return replace(command, env={**command.env, variable: json.dumps(config)})


def takes_servers_by_variable(command: AgentCommand, info: acp.Implementation | None) -> bool:
    """Whether the started agent takes its servers from the variable."""
    return bool(command.servers_variable) and info is not None and info.name == CODEX_ACP_NAME


def _entry(server: acp.HttpMcpServer) -> dict[str, Any]:
    headers = {header.name: header.value for header in server.headers}
    # Without `required`, a slow server is missing in the first turn.
    return {"url": server.url, "http_headers": headers, "required": True, "default_tools_approval_mode": "approve"}
