"""What is configured, for people to look at: every server with its target, its place, its approval and its problems."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from binnacle.upstream.approvals import Seen, is_approved
from binnacle.upstream.config import HIDDEN, Problem, ServerConfig, Source
from binnacle.upstream.masking import shown_url, shown_words
from binnacle.upstream.shapes import ALIASES, Entry, build, snake_case
from binnacle.upstream.sources import read_entries
from binnacle.upstream.variables import Variables

_URL = re.compile(r"(?:https?|wss?)://[^/?#:@\s]*(?::\d+)?(?:[/?#]|$)|(?:https?|wss?)://[^/?#\s]+@|\$\{")
"""What is no URL at all may be a secret in the wrong place."""


class Row(Struct, frozen=True, kw_only=True):
    """One server as it is listed. Holds no secret: what was written, with literal ones hidden, and names."""

    name: str
    transport: str
    """Empty if that cannot be told."""

    target: str
    source: str
    kind: str
    enabled: bool
    approved: bool
    lazy: bool = False
    auth: str = "none"
    env: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[dict[str, str], ...] = ()


class Server(Struct, frozen=True):
    """A server as it was written, and what it came to."""

    entry: Entry
    config: ServerConfig | None
    """None if something is wrong with the entry."""

    problems: tuple[Problem, ...] = ()


class Overview(Struct, frozen=True):
    """Everything that is configured for a project."""

    servers: dict[str, Server]
    problems: tuple[Problem, ...]
    """What concerns no server that is there: a file that cannot be read, a key that nobody knows."""


def look(
    repo: str,
    *,
    flags: Sequence[str] = (),
    discipline: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Overview:
    """What is configured for the project in `repo`."""
    written = read_entries(repo, flags=flags, discipline=discipline, environ=environ)
    variables = Variables(os.environ if environ is None else environ, repo=repo)
    servers: dict[str, Server] = {}
    for name, entry in written.entries.items():
        config, problems = build(entry, variables, repo=repo)
        also = (problem for problem in written.problems if problem.server == name)
        servers[name] = Server(entry, config, (*also, *problems))
    return Overview(servers, tuple(problem for problem in written.problems if problem.server not in servers))


def row(server: Server, repo: str) -> Row:
    """A server as it is listed."""
    entry, config = server.entry, server.config
    return Row(
        name=entry.name,
        transport=config.transport if config else "",
        target=_target(written_values(entry.data)),
        source=str(entry.source),
        kind=entry.source.kind,
        enabled=bool(config and config.enabled),
        approved=bool(config and is_approved(config, repo)),
        lazy=bool(config and config.lazy),
        auth=config.auth.type if config else "none",
        env=tuple(config.env) if config else (),
        headers=tuple(config.headers) if config else (),
        problems=tuple(problem._asdict() for problem in server.problems),
    )


def seen(server: Server) -> Seen:
    """A server as a person sees it before approving: nothing of it may hide, not even as a secret."""
    written = written_values(server.entry.data)
    if (config := server.config) is not None and config.transport != "stdio":
        return Seen((), "", config.variables, config.written_url, tuple(sorted(config.headers)), config.auth.token_path)
    env = written.get("env")
    return Seen(
        tuple(_words(written)), str(written.get("cwd") or ""), tuple(sorted(env)) if isinstance(env, Mapping) else ()
    )


def approved_entries(servers: Mapping[str, Any], repo: str) -> dict[str, Any]:
    """Those of a discipline's servers, as they were written, that a session may use now."""
    variables = Variables(os.environ, repo=repo)
    built = {
        name: build(Entry(name, data, Source("discipline")), variables, repo=repo)[0] for name, data in servers.items()
    }
    return {name: servers[name] for name, config in built.items() if config and is_approved(config, repo)}


def written_values(data: Any) -> dict[str, Any]:
    """The values at the top of an entry by our keys, as they were written."""
    if not isinstance(data, Mapping):
        return {}
    return {ALIASES.get(key, (key,))[-1]: value for key, value in ((snake_case(one), data[one]) for one in data)}


def _target(written: Mapping[str, Any]) -> str:
    url = written.get("url")
    if isinstance(url, str) and url:
        return shown_url(url) if _URL.match(url) else HIDDEN
    return " ".join(shlex.quote(word) if " " in word else word for word in shown_words(_words(written)))


def _words(written: Mapping[str, Any]) -> list[str]:
    args = written.get("args")
    words = (written.get("command") or "", *(args if isinstance(args, list | tuple) else ()))
    return [str(word) if isinstance(word, str | int | float) else "…" for word in words]
