"""The configured servers for people: each with its target and its problems."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from binnacle.config.trust import TrustItem
from binnacle.errors import ConfigError, NextStep, NotFound, did_you_mean
from binnacle.upstream import upstream_steps
from binnacle.upstream.configuration.config_paths import lists_folder
from binnacle.upstream.configuration.server_config import ConfigProblem, ConfigSource, ServerConfig
from binnacle.upstream.configuration.server_entry import ServerEntry, build_server
from binnacle.upstream.configuration.server_loader import read_entries, read_shared
from binnacle.upstream.configuration.server_target import mask_target
from binnacle.upstream.configuration.server_trust import is_allowed, trust_item_of
from binnacle.upstream.configuration.variable_expansion import ProjectVariables
from binnacle.upstream.listing.list_cache import ListCache


class ServerRow(Struct, frozen=True, kw_only=True):
    """One server as it is listed, without secrets: the text as written, with literal secrets masked."""

    name: str
    transport: str
    """Empty if it is unknown."""

    target: str
    source: str
    kind: str
    enabled: bool
    trusted: bool
    lazy: bool = False
    pin: str = ""
    auth: str = "none"
    env: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    held_back: tuple[str, ...] = ()
    """What it listed beyond the bounds when it was last connected."""


class ConfiguredServer(Struct, frozen=True):
    """A server as it was written, and as it was read."""

    entry: ServerEntry
    config: ServerConfig | None
    """None if something is wrong with the entry."""

    problems: tuple[ConfigProblem, ...] = ()


class ServersOverview(Struct, frozen=True):
    """Everything that is configured for a project."""

    servers: dict[str, ConfiguredServer]
    problems: tuple[ConfigProblem, ...]
    """Problems that concern no server: a file that cannot be read, an unknown key."""


def read_overview(
    repo: str,
    *,
    flags: Sequence[str] = (),
    discipline: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> ServersOverview:
    """What is configured for the project in `repo`."""
    written = read_entries(repo, flags=flags, discipline=discipline, environ=environ)
    variables = ProjectVariables(os.environ if environ is None else environ, repo=repo)
    servers: dict[str, ConfiguredServer] = {}
    for name, entry in written.entries.items():
        config, problems = build_server(entry, variables, repo=repo)
        also = (problem for problem in written.problems if problem.server == name)
        servers[name] = ConfiguredServer(entry, config, (*also, *problems))
    return ServersOverview(servers, tuple(problem for problem in written.problems if problem.server not in servers))


def find_server(found: ServersOverview, name: str) -> ConfiguredServer:
    """The server of that name, as it was written.

    Raises:
        NotFound: there is none, and no file that might have it is broken.
        ConfigError: a file cannot be read.
    """
    if name in found.servers:
        return found.servers[name]
    for problem in found.problems:
        if not problem.server:
            raise ConfigError(f"{problem.where}: {problem.message}", hint=problem.hint)
    hint: str | NextStep = did_you_mean(name, list(found.servers)) or upstream_steps.LIST_SERVERS
    raise NotFound(f"no server is called {name!r}", hint=hint)


def row(server: ConfiguredServer, repo: str, *, data_dir: str = "") -> ServerRow:
    """A server as it is listed. `data_dir` is where the project keeps what it knows of its servers."""
    entry, config = server.entry, server.config
    return ServerRow(
        name=entry.name,
        transport=config.transport if config else "",
        target=mask_target(entry.data),
        source=str(entry.source),
        kind=entry.source.kind,
        enabled=bool(config and config.enabled),
        trusted=bool(config and is_allowed(config, repo)),
        lazy=bool(config and config.lazy),
        pin=config.pin if config else "",
        auth=config.auth.type if config else "none",
        env=tuple(config.env) if config else (),
        headers=tuple(config.headers) if config else (),
        problems=server.problems,
        held_back=ListCache(lists_folder(data_dir)).find_notes(config) if config and data_dir else (),
    )


def find_items(repo: str, disciplines: Iterable[Mapping[str, Any]] = ()) -> list[TrustItem]:
    """The servers that a person has to trust: the project's, and those that disciplines bring. Not disabled ones."""
    written = {entry.name: entry for entry in read_shared(repo)}
    for name, data in ((name, data) for one in disciplines for name, data in one.items()):
        written.setdefault(name, ServerEntry(name, data, ConfigSource("discipline")))
    variables = ProjectVariables(os.environ, repo=repo)
    built = (build_server(entry, variables, repo=repo)[0] for entry in written.values())
    return [trust_item_of(config) for config in built if config and config.enabled]


def allowed_entries(servers: Mapping[str, Any], repo: str) -> dict[str, Any]:
    """Those of a discipline's servers, as they were written, that a session may use now."""
    variables = ProjectVariables(os.environ, repo=repo)
    built = {
        name: build_server(ServerEntry(name, data, ConfigSource("discipline")), variables, repo=repo)[0]
        for name, data in servers.items()
    }
    return {name: servers[name] for name, config in built.items() if config and is_allowed(config, repo)}
