"""The clients Binnacle can be set up in: which file each reads, in which format, and what our entry looks like there.

Pure description. The shapes for VS Code and Copilot CLI are those of the product's first document; the others were
read back by the clients themselves (Claude Code 2.1, opencode 1.18, Codex 0.166, Gemini CLI 0.61, goose 1.52) or
follow their documentation (Cursor, Zed). No entry says `env` or `enabled` unless it must: those are the person's.
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
    """Begins with `~` or with `$CONFIG`, the directory for settings that XDG_CONFIG_HOME can move."""

    variable: str = ""
    """Environment variable that names another place."""

    below: str = ""
    """Where in that other place the directory is."""


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
    """Its file for all projects, in its folder; the first that exists is meant, or else the first."""

    project: tuple[str, ...]
    """Its file in a repository, likewise. Empty if it has none."""

    programs: tuple[str, ...]
    """What it is called on PATH."""

    signs: tuple[str, ...] = ("",)
    """What is in its folder once it has run; the folder itself if nothing is said."""

    also: tuple[str, ...] = ()
    """Files in a repository that it reads besides."""

    default: Scope = "project"
    additions: Mapping[str, Any] = MappingProxyType({})
    """What our entry says besides where a person has not decided otherwise: nothing of the work is lost without it."""

    allowing: Mapping[str, Any] = MappingProxyType({})
    """What our entry says to let its tools be called without asking, as headless use needs; only if a person wants."""

    unattended: str = ""
    """How headless use is let call them where no entry can say it."""

    note: str = ""
    """What a person has to do before the project's file is read."""


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
            # Not .mcp.json, which it reads too: there, Claude Code stumbles over "tools".
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
            # Otherwise its model has to search for a tool before it knows of any.
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
            # It passes on only a few variables by itself; without ours the work would go to another store.
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
"""Every client by its name, in the order they are asked about."""
