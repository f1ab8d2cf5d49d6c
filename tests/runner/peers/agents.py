"""The agents of other people: where each is, how it is pointed at a scripted model, and how it writes a file."""

import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.peers.model import Json, use
from server.peers import installed

PACKAGES = Path(__file__).with_name("package.json")


@dataclass(frozen=True, kw_only=True)
class PeerAgent:
    """One kind of agent."""

    env: Callable[[str], dict[str, str]]
    """Its variables, for the address of a model."""

    write: Callable[[str, str, str | None], Json]
    """The step that writes a file: its path, its text, and what it has had so far."""

    read: Callable[[str], Json] | None = None
    """The step that it wants before it changes a file that is there."""

    files: Mapping[str, str] = field(default_factory=dict)
    """What it needs in the home folder."""


def modules() -> Path:
    return installed.node_modules(PACKAGES)


def path_with_node(folder: Path) -> str:
    return os.pathsep.join([str(folder), str(Path(installed.node()).parent)])


def goose(url: str) -> dict[str, str]:
    return {
        "PATH": str(installed.node_modules() / "@aaif" / "goose-binary-linux-x64" / "bin"),
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_MODE": "approve",
        "GOOSE_DISABLE_KEYRING": "1",
        "OPENAI_HOST": url,
        "OPENAI_API_KEY": "none",
    }


def opencode(url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted", "tool_call": True, "limit": {"context": 100000, "output": 8000}}},
    }
    config = {
        "model": "local/scripted",
        "small_model": "local/scripted",
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["local"],
        "provider": {"local": provider},
        "permission": {"*": "ask"},
    }
    return {
        "PATH": str(modules() / "opencode-linux-x64" / "bin"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


def claude(url: str) -> dict[str, str]:
    return {
        "PATH": path_with_node(modules() / ".bin"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def copilot(url: str) -> dict[str, str]:
    return {
        "PATH": str(modules() / "@github" / "copilot-linux-x64"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
    }


def codex(url: str) -> dict[str, str]:
    provider = {"name": "Scripted", "base_url": f"{url}/v1", "wire_api": "responses"}
    config = {"model": "scripted", "model_provider": "scripted", "model_providers": {"scripted": provider}}
    return {
        "PATH": path_with_node(modules() / ".bin"),
        "CODEX_CONFIG": json.dumps(config),
        "MODEL_PROVIDER": "scripted",
        "NO_BROWSER": "1",
    }


def gemini(url: str) -> dict[str, str]:
    return {
        "PATH": path_with_node(modules() / ".bin"),
        "GEMINI_API_KEY": "none",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }


def _change_with_copilot(path: str, text: str, before: str | None) -> Json:
    if before is None:
        return use("create", path=path, file_text=text)
    return use("edit", path=path, old_str=before, new_str=text)


AGENTS = {
    "goose": PeerAgent(env=goose, write=lambda path, text, _: use("write", path=path, content=text)),
    "opencode": PeerAgent(
        env=opencode,
        write=lambda path, text, _: use("write", filePath=path, content=text),
        read=lambda path: use("read", filePath=path),
    ),
    "claude": PeerAgent(
        env=claude,
        write=lambda path, text, _: use("Write", file_path=path, content=text),
        read=lambda path: use("Read", file_path=path),
    ),
    "copilot": PeerAgent(env=copilot, write=_change_with_copilot),
    "codex": PeerAgent(
        env=codex,
        write=lambda path, text, _: use("exec_command", cmd=f"printf '%s' {shlex.quote(text)} > {shlex.quote(path)}"),
    ),
    "gemini": PeerAgent(
        env=gemini,
        write=lambda path, text, _: use("write_file", file_path=path, content=text),
        files={".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})},
    ),
}
