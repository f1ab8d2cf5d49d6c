"""The servers that a client's own files name, those of the person and those of the project."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from binnacle.config.clients.files import read
from binnacle.config.clients.known import CLIENTS
from binnacle.config.clients.places import locate
from binnacle.config.clients.source import NAME, Source
from binnacle.config.clients.spans import parse
from binnacle.errors import ConfigError


def configured_servers(client: str, worktree: str) -> dict[str, Mapping[str, Any]]:
    """What a client's files in the home and in this checkout say of each server; the person's file goes first.

    Names that cannot be said on Codex's command line are left out for it.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for path in _own_files(client, worktree):
        for name, entry in _servers_in(client, path):
            found.setdefault(name, entry)
    return found


def own_entries(client: str, worktree: str) -> list[str]:
    """The names of those servers that are Binnacle: as `bn system init` calls it, or by their command."""
    return [name for name, entry in configured_servers(client, worktree).items() if name == NAME or _is_ours(entry)]


def _is_ours(entry: Mapping[str, Any]) -> bool:
    command = entry.get("command") or entry.get("cmd")
    words = command if isinstance(command, list) else [command, *(entry.get("args") or ())]
    program, *rest = map(str, words or [""])
    return os.path.basename(program) == "bn" and [word for word in rest if word in ("mcp", "serve")] == ["mcp", "serve"]


def _own_files(client: str, worktree: str) -> Iterator[str]:
    known = CLIENTS[client]
    user = [os.path.join(locate(known.folder), file) for file in known.user]
    yield from user
    if client == "codex" and not any(_trusts(path, worktree) for path in user):
        # It does not read the project's file then, and would not start for a server it does not know.
        return
    yield from (os.path.join(worktree, file) for file in (*known.project, *known.also))


def _trusts(path: str, worktree: str) -> bool:
    project = _document("codex", path).get("projects", {}).get(worktree, {})
    return bool(project.get("trust_level") == "trusted")


def _servers_in(client: str, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    servers = _document(client, path).get(CLIENTS[client].container)
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        if client != "codex" or re.fullmatch(r"[\w-]+", str(name)):
            yield str(name), entry if isinstance(entry, dict) else {}


def _document(client: str, path: str) -> dict[str, Any]:
    """What a client's file says; nothing if it is not there or broken, which the client itself will complain of."""
    with suppress(ConfigError, tomllib.TOMLDecodeError):
        text = (read(path) or "").removeprefix("\ufeff")
        if CLIENTS[client].format == "toml":
            return tomllib.loads(text)
        node = parse(Source(path, text))
        return dict(node.value) if node and isinstance(node.value, dict) else {}
    return {}
