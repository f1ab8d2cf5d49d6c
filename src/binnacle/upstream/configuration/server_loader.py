"""Reads where servers are configured, decides which of two with one name counts, and finds changes.

Flags beat the project's files, those beat the user's, and a discipline only adds to them: agents may write disciplines,
and none should take the name of a server that a person set up. A name that is taken stays taken even if its entry is
wrong, so that a mistake never starts a different server under a familiar name. But a project's entry that nobody has
trusted takes no name away from the user's own.
"""

import json
import os
import shlex
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from binnacle.config.clients.config_text import ConfigText as Text
from binnacle.config.clients.foreign_files import read
from binnacle.config.clients.jsonc_parser import JsoncMember, JsoncNode, parse
from binnacle.config.directories import trust_file
from binnacle.config.trust import is_trusted
from binnacle.errors import ConfigError, did_you_mean
from binnacle.upstream.configuration.config_paths import ConfigFile, config_files
from binnacle.upstream.configuration.entry_fields import is_unicode
from binnacle.upstream.configuration.server_config import ConfigProblem, ConfigSource, LoadedServers, ServerConfig
from binnacle.upstream.configuration.server_entry import KeyPath, ServerEntry, build_server, written_url
from binnacle.upstream.configuration.server_trust import FOREIGN, trust_item
from binnacle.upstream.configuration.variable_expansion import ProjectVariables

CONTAINERS = ("servers", "mcpServers", "mcp_servers")
"""Keys below which servers are; new files get the first."""

_BESIDE = ("inputs", "$schema")
"""Other keys that are allowed at the top of a file."""

_FLAG = "--mcp-server"
_FORM = f"{_FLAG} NAME=https://host/mcp or {_FLAG} 'NAME=command argument'"

Fingerprint = tuple[tuple[int, int, int], ...]


class WrittenEntries(NamedTuple):
    """Servers as they were written, the first of each name."""

    entries: dict[str, ServerEntry]
    problems: tuple[ConfigProblem, ...]


class ServerChanges(NamedTuple):
    """What a new configuration means for servers that are running."""

    removed: tuple[str, ...]
    changed: tuple[str, ...]
    """Added, or configured differently."""


def load_servers(
    repo: str,
    *,
    flags: Sequence[str] = (),
    discipline: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedServers:
    """The servers configured for the project in `repo`; never fails because one of them is wrong.

    Args:
        flags: values of `--mcp-server`, `NAME=URL` or `NAME=COMMAND ARG…`.
        discipline: servers that the discipline brings, by name.
        environ: what `${VAR}` is filled in from; the process's own environment unless given.
    """
    environ = os.environ if environ is None else environ
    written = read_entries(repo, flags=flags, discipline=discipline, environ=environ)
    variables = ProjectVariables(environ, repo=repo)
    servers: dict[str, ServerConfig] = {}
    problems = list(written.problems)
    for entry in written.entries.values():
        server, wrong = build_server(entry, variables, repo=repo)
        problems += wrong
        if server is not None:
            servers[server.name] = server
    return LoadedServers(servers, tuple(problems))


def read_entries(
    repo: str,
    *,
    flags: Sequence[str] = (),
    discipline: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> WrittenEntries:
    """Servers as they were written, variables and all."""
    entries: dict[str, ServerEntry] = {}
    problems: list[ConfigProblem] = []
    found = [_read_flags(flags), *(read_config(one) for one in config_files(repo, environ))]
    for some, wrong in found:
        problems += wrong
        for entry in some:
            if entry.name not in entries or (entry.source.kind == "user" and not _counts(entries[entry.name], repo)):
                entries[entry.name] = entry
    for name, data in (discipline or {}).items():
        entries.setdefault(name, ServerEntry(name, data, ConfigSource("discipline")))
    own = {url for some, _ in found for entry in some if entry.source.kind == "user" and (url := written_url(entry))}
    known = {name: entry._replace(is_own=written_url(entry) in own) for name, entry in entries.items()}
    return WrittenEntries(known, tuple(problems))


def read_shared(repo: str) -> list[ServerEntry]:
    """Servers as the project's own files have them."""
    found: dict[str, ServerEntry] = {}
    for entry in (entry for one in config_files(repo) if one.kind == "project" for entry in read_config(one)[0]):
        found.setdefault(entry.name, entry)
    return list(found.values())


def _counts(entry: ServerEntry, repo: str) -> bool:
    """Whether an entry has an effect: it is the person's own, or a person has trusted it."""
    return entry.source.kind not in FOREIGN or is_trusted(repo, trust_item(entry.name, entry.data, entry.source))


def find_changes(old: LoadedServers, new: LoadedServers) -> ServerChanges:
    """The names of the servers that a new configuration changes.

    A server whose entry or file is broken now is not changed: somebody may be editing it, and until then the server
    keeps running as it was.
    """
    broken = {problem.server for problem in new.problems}
    unread = [problem.where for problem in new.problems if not problem.server]

    def is_gone(server: ServerConfig) -> bool:
        file = server.source.file
        in_unread = any(where == file or where.startswith(f"{file}:") for where in unread if file)
        return server.name not in new.servers and server.name not in broken and not in_unread

    differing = (name for name, server in new.servers.items() if not _is_same(old.servers.get(name), server))
    return ServerChanges(tuple(name for name, server in old.servers.items() if is_gone(server)), tuple(differing))


def fingerprint(repo: str, environ: Mapping[str, str] | None = None) -> Fingerprint:
    """A value that changes when a configuration file is changed, made or removed; costs a few system calls."""
    return tuple(map(_state, (*(one.path for one in config_files(repo, environ)), trust_file())))


def read_config(file: ConfigFile) -> tuple[list[ServerEntry], list[ConfigProblem]]:
    """The servers in one file, and what is wrong with the file."""
    try:
        text = Text(file.path, (read(file.path) or "").removeprefix("\ufeff"))
        root = parse(text)
        if root is None:
            return [], []
        if not isinstance(root.value, dict):
            raise text.fault("expected an object", at=root.start, hint='{"servers": {}}')
        if not is_unicode(json.dumps(root.value, ensure_ascii=False)):
            raise text.fault("not Unicode: half of a surrogate pair is in it", hint="look for \\ud8… to \\udf…")
    except ConfigError as error:
        return [], [_unreadable(file.path, error)]
    lines = _Lines(text.text)
    entries: list[ServerEntry] = []
    problems: list[ConfigProblem] = []
    for member in root.members:
        where = f"{file.path}:{lines.at(member.start)}"
        if member.key in CONTAINERS:
            _read_container(file, member, lines, entries, problems)
        elif member.key not in _BESIDE:
            problems.append(_report_misplaced(member, where))
    return entries, problems


def _read_container(
    file: ConfigFile, container: JsoncMember, lines: "_Lines", entries: list[ServerEntry], problems: list[ConfigProblem]
) -> None:
    if not isinstance(container.node.value, dict):
        where = f"{file.path}:{lines.at(container.start)}"
        problems.append(ConfigProblem("", where, f"{container.key}: expected an object", '{"name": {"command": "…"}}'))
    for member in container.node.members:
        source = ConfigSource(file.kind, file.path, lines.at(member.start))
        starts = list(_starts(member.node))
        places = {path: lines.at(start) for path, start in starts} | {(): source.line}
        paths = [path for path, _ in starts]
        repeated = tuple(path for index, path in enumerate(paths) if path in paths[:index])
        entry = ServerEntry(member.key, member.node.value, source, places, repeated)
        if any(entry.name == other.name for other in entries):
            problems.append(entry.problem(f"{entry.name!r} is there twice; the first counts", "keep one of them"))
        entries.append(entry)


def _report_misplaced(member: JsoncMember, where: str) -> ConfigProblem:
    value = member.node.value
    is_server = isinstance(value, dict) and not value.keys().isdisjoint(("command", "url"))
    hint = "put it below 'servers'" if is_server else did_you_mean(member.key, (*CONTAINERS[:2], *_BESIDE))
    return ConfigProblem(member.key, where, f"{member.key}: unknown key", hint)


def _starts(node: JsoncNode, path: KeyPath = ()) -> Iterator[tuple[KeyPath, int]]:
    """Where each key below an object begins in the text."""
    for member in node.members:
        yield (*path, member.key), member.start
        yield from _starts(member.node, (*path, member.key))


def _read_flags(flags: Sequence[str]) -> tuple[list[ServerEntry], list[ConfigProblem]]:
    entries: list[ServerEntry] = []
    problems: list[ConfigProblem] = []
    for flag in flags:
        name, has_target, target = flag.partition("=")
        entry = ServerEntry(name if has_target else "", _target(target.strip()), ConfigSource("cli"))
        if not has_target:
            problems.append(ConfigProblem("", _FLAG, "a name and '=' are missing", _FORM))
        elif entry.data is None:
            problems.append(entry.problem("neither a URL nor a command", _FORM))
        elif any(name == other.name for other in entries):
            problems.append(entry.problem(f"{name!r} is given twice; the first counts", "give each its own name"))
        else:
            entries.append(entry)
    return entries, problems


def _target(text: str) -> dict[str, Any] | None:
    """The server that a flag describes: a URL, or a command, split as a shell would."""
    scheme, has_scheme, _ = text.partition("://")
    if has_scheme and scheme.isalpha() and not text.split(maxsplit=1)[1:]:
        return {"url": text}
    try:
        command, *args = shlex.split(text)
    except ValueError:
        return None
    return {"command": command, "args": args}


def _is_same(old: ServerConfig | None, new: ServerConfig) -> bool:
    """Whether only the position in the file changed."""
    from msgspec.structs import replace

    return old is not None and replace(old, source=ConfigSource(old.source.kind)) == replace(
        new, source=ConfigSource(new.source.kind)
    )


def _unreadable(path: str, error: ConfigError) -> ConfigProblem:
    line, column = error.details.get("line"), error.details.get("column")
    message = error.message.removeprefix(f"{path}:{line}:{column}: ").removeprefix(f"{path}: ")
    hint = error.hint if "run this again" not in error.hint else "fix the file there"
    return ConfigProblem("", f"{path}:{line}" if line else path, message, hint)


class _Lines:
    """Finds the line of a place in a text."""

    def __init__(self, text: str) -> None:
        self._ends = [index for index, character in enumerate(text) if character == "\n"]

    def at(self, index: int) -> int:
        return bisect_right(self._ends, index) + 1


def _state(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)
