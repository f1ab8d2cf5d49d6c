"""The servers in a client's own files, of the person and of the project."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from binnacle.config.clients.client_files import locate
from binnacle.config.clients.config_text import NAME, ConfigText
from binnacle.config.clients.foreign_files import read
from binnacle.config.clients.jsonc_parser import parse
from binnacle.config.clients.known_clients import CLIENTS
from binnacle.errors import ConfigError

Servers = Mapping[str, Mapping[str, Any]]
"""The entries of servers, by name."""


def configured_servers(client: str, worktree: str, *, is_trusted: bool = False) -> Servers:
    """The servers in a client's files in the home folder and in this checkout; the person's file comes first.

    Codex reads the project's file only if it `is_trusted`, or if its own files say so. Names that its command line
    cannot express are left out.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for path, root in _own_files(client, worktree, is_trusted=is_trusted):
        for name, entry in _servers_in(client, path, worktree, root):
            found.setdefault(name, entry)
    return found


def own_entries(client: str, worktree: str) -> Servers:
    """The servers that are Binnacle, by the name that `bn system init` uses or by their command."""
    found = configured_servers(client, worktree, is_trusted=True)
    return {name: entry for name, entry in found.items() if name == NAME or _is_ours(entry)}


def _is_ours(entry: Mapping[str, Any]) -> bool:
    command = entry.get("command") or entry.get("cmd")
    words = command if isinstance(command, list) else [command, *(entry.get("args") or ())]
    program, *rest = map(str, words or [""])
    is_bn = os.path.basename(program) == "bn" or rest[:2] == ["-m", "binnacle"]
    return is_bn and [word for word in rest if word in ("mcp", "serve")] == ["mcp", "serve"]


def _own_files(client: str, worktree: str, *, is_trusted: bool) -> Iterator[tuple[str, str | None]]:
    """The client's files; for those in the checkout, with its folder."""
    known = CLIENTS[client]
    user = [os.path.join(locate(known.folder), file) for file in known.user]
    yield from ((path, None) for path in user)
    if client == "codex" and not is_trusted and not any(_trusts(path, worktree) for path in user):
        # It does not read the project's file then, and would fail on a server that it does not know.
        return
    yield from ((os.path.join(worktree, file), worktree) for file in (*known.project, *known.also))


def _trusts(path: str, worktree: str) -> bool:
    project = read_document("codex", path).get("projects", {}).get(worktree, {})
    return bool(project.get("trust_level") == "trusted")


def _servers_in(client: str, path: str, worktree: str, root: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    container = CLIENTS[client].container
    document = read_document(client, path, root=root)
    # Claude Code keeps servers for a single project in the person's file too.
    for servers in (document.get(container), _nested(document, "projects", worktree, container)):
        for name, entry in servers.items() if isinstance(servers, dict) else ():
            if client != "codex" or re.fullmatch(r"[\w-]+", str(name)):
                yield str(name), entry if isinstance(entry, dict) else {}


def _nested(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def read_document(client: str, path: str, *, root: str | None = None) -> dict[str, Any]:
    """The content of a client's file; empty if it is missing or broken, which the client itself reports."""
    with suppress(ConfigError):
        text = (read(path, root=root) or "").removeprefix("\ufeff")
        match CLIENTS[client].format:
            case "toml":
                return _parse_toml(text)
            case "yaml":
                return _parse_yaml(text)
            case "jsonc":
                return parse_settings(path, text)
    return {}


def parse_settings(place: str, text: str) -> dict[str, Any]:
    """Settings as JSON with comments.

    Raises:
        ConfigError: they are not.
    """
    source = ConfigText(place, text.removeprefix("\ufeff"))
    node = parse(source)
    if node is not None and not isinstance(node.value, dict):
        raise source.fault("not an object", at=node.start, hint="make it an object, or remove it")
    return dict(node.value) if node else {}


def _parse_toml(text: str) -> dict[str, Any]:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text)
    return {}


def _parse_yaml(text: str) -> dict[str, Any]:
    import yaml  # slow to import

    with suppress(yaml.YAMLError):
        found = yaml.safe_load(text) if text else {}
        return found if isinstance(found, dict) else {}
    return {}
