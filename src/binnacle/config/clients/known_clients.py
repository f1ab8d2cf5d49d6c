"""The clients that Binnacle can be set up in: which file each reads, in which format, and our entry there.

This is only data. The entries were read back by the clients themselves (Claude Code 2.1, opencode 1.18, Codex 0.166,
Gemini CLI 0.61, goose 1.52) or follow documentation (VS Code, Copilot CLI, Cursor, Zed). No entry sets `env` or
`enabled` unless necessary: those are for the person to set.
"""

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from binnacle.config.server_variables import SERVER_VARIABLES

Format = Literal["jsonc", "toml", "yaml"]
Scope = Literal["project", "user"]


class ClientFolder(NamedTuple):
    """A client's own directory."""

    path: str
    """A path that begins with `~` or with `$CONFIG`, the directory for settings (XDG_CONFIG_HOME)."""

    variable: str = ""
    """Environment variable that overrides the path."""

    below: str = ""
    """Path of the directory below the one that the variable names."""


class KnownClient(NamedTuple):
    """A program that can start our MCP server."""

    name: str
    title: str
    format: Format
    container: str
    """Key under which it keeps its servers."""

    entry: dict[str, Any]
    folder: ClientFolder
    """Its directory in the person's home."""

    user: tuple[str, ...]
    """Candidates for its file for all projects, in its folder: the first that exists, or else the first."""

    project: tuple[str, ...]
    """Candidates for its file in a repository, likewise. Empty if it has none."""

    programs: tuple[str, ...]
    """Names of its program on PATH."""

    signs: tuple[str, ...] = ("",)
    """Files in its folder that show that it has run; by default the folder itself."""

    also: tuple[str, ...] = ()
    """Other files in a repository that it reads."""

    default: Scope = "project"
    additions: Mapping[str, Any] = MappingProxyType({})
    """Optional values of our entry, which a person may override."""

    allowing: Mapping[str, Any] = MappingProxyType({})
    """Values of our entry that allow calls of its tools without asking, for headless use; only if a person wants."""

    unattended: str = ""
    """How to allow such calls if no entry can do it."""

    note: str = ""
    """What a person has to do before the client reads the project's file."""


_COMMAND: dict[str, Any] = {"command": "bn", "args": ["mcp", "serve"]}
_CODE = "~/Library/Application Support/Code" if sys.platform == "darwin" else "$CONFIG/Code"

CLIENTS = {
    client.name: client
    for client in (
        KnownClient(
            "vscode",
            "VS Code",
            "jsonc",
            "servers",
            {"type": "stdio", **_COMMAND, "cwd": "${workspaceFolder}"},
            folder=ClientFolder(_CODE),
            user=("User/mcp.json",),
            project=(".vscode/mcp.json",),
            programs=("code",),
        ),
        KnownClient(
            "copilot",
            "GitHub Copilot CLI",
            "jsonc",
            "mcpServers",
            {"type": "local", **_COMMAND, "tools": ["*"]},
            folder=ClientFolder("~/.copilot", "COPILOT_HOME"),
            user=("mcp-config.json",),
            # Not .mcp.json, which it reads too: there, "tools" would break Claude Code.
            project=(".github/mcp.json",),
            also=(".mcp.json",),
            programs=("copilot",),
            default="user",
            unattended="start it with --allow-tool binnacle",
            note="Copilot reads it in folders you trust",
        ),
        KnownClient(
            "claude",
            "Claude Code",
            "jsonc",
            "mcpServers",
            {"type": "stdio", **_COMMAND},
            folder=ClientFolder("~", "CLAUDE_CONFIG_DIR"),
            signs=(".claude", ".claude.json"),
            user=(".claude.json",),
            project=(".mcp.json",),
            programs=("claude",),
            # Otherwise its model has to search before it sees any of our tools.
            additions={"alwaysLoad": True},
            unattended="start it with --allowedTools 'mcp__binnacle__*'",
            note="Claude Code asks you to approve it once",
        ),
        KnownClient(
            "cursor",
            "Cursor",
            "jsonc",
            "mcpServers",
            _COMMAND,
            folder=ClientFolder("~/.cursor"),
            user=("mcp.json",),
            project=(".cursor/mcp.json",),
            programs=("cursor", "cursor-agent"),
        ),
        KnownClient(
            "zed",
            "Zed",
            "jsonc",
            "context_servers",
            _COMMAND,
            folder=ClientFolder("$CONFIG/zed"),
            user=("settings.json",),
            project=(".zed/settings.json",),
            programs=("zed", "zeditor"),
            note="Zed reads it in projects you trust",
        ),
        KnownClient(
            "opencode",
            "opencode",
            "jsonc",
            "mcp",
            {"type": "local", "command": ["bn", "mcp", "serve"]},
            folder=ClientFolder("$CONFIG/opencode"),
            user=("opencode.json", "opencode.jsonc"),
            project=("opencode.json", "opencode.jsonc"),
            also=(".opencode/opencode.json", ".opencode/opencode.jsonc"),
            programs=("opencode",),
        ),
        KnownClient(
            "codex",
            "Codex",
            "toml",
            "mcp_servers",
            _COMMAND,
            folder=ClientFolder("~/.codex", "CODEX_HOME"),
            user=("config.toml",),
            project=(".codex/config.toml",),
            programs=("codex",),
            # By default it passes only a few variables; without ours, the server would use another store.
            additions={"env_vars": list(SERVER_VARIABLES)},
            allowing={"default_tools_approval_mode": "approve"},
            note="Codex reads it in projects you trust",
        ),
        KnownClient(
            "gemini",
            "Gemini CLI",
            "jsonc",
            "mcpServers",
            _COMMAND,
            folder=ClientFolder("~/.gemini", "GEMINI_CLI_HOME", ".gemini"),
            user=("settings.json",),
            project=(".gemini/settings.json",),
            programs=("gemini",),
            allowing={"trust": True},
            note="Gemini CLI reads it in folders you trust",
        ),
        KnownClient(
            "goose",
            "goose",
            "yaml",
            "extensions",
            {
                "enabled": True,
                "type": "stdio",
                "name": "binnacle",
                "description": "Tasks, notes and learnings of this repository",
                "cmd": "bn",
                "args": ["mcp", "serve"],
                "timeout": 300,
            },
            folder=ClientFolder("$CONFIG/goose"),
            user=("config.yaml",),
            project=(),
            programs=("goose",),
            default="user",
        ),
    )
}
"""Every client by its name, in the order in which the user is asked."""
