"""Trust on first use: how tools described themselves when they were first seen, and what has changed since.

A pin is made when a tool is first seen, and changes only when a person accepts the change.
"""

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.file_lock import wait_for_lock
from binnacle.config.private_files import make_private_folder
from binnacle.errors import ConfigError, NotFound, Refused, did_you_mean
from binnacle.upstream.configuration.server_config import PinMode
from binnacle.wire.hidden_text import make_visible

PINNED = ("title", "description", "inputSchema", "outputSchema", "annotations")
"""What a pin holds, besides the name: everything that a model reads or a client decides by."""

DIFF_LINES = 400
"""Lines compared of each part, and shown of the comparison: beyond that nobody reads, and comparing takes long."""

LOCK_WAIT_SECONDS = 2.0
"""Seconds to wait while another gateway locks the file; it needs a few milliseconds."""

Kind = Literal["added", "changed", "renamed", "removed"]
Content = dict[str, Any]
"""The pinned parts of a tool."""


class PinChange(NamedTuple):
    """A tool that is not as it was pinned."""

    kind: Kind
    tool: str
    """Its name now; the last one it had, when it was removed."""

    held: bool
    """Whether it must not be offered until it is accepted."""

    before: Content | None = None
    after: Content | None = None
    was: str = ""
    """What a renamed tool was called."""

    def diff(self) -> str:
        """What has changed, for people: lines with - and +, nothing invisible in them."""
        lines = [f"-name: {self.was}", f"+name: {self.tool}"] if self.was else []
        for part in PINNED:
            before, after = (self.before or {}).get(part), (self.after or {}).get(part)
            if _canonical(before) != _canonical(after):
                lines += _compare(part, before, after)
        if len(lines) > DIFF_LINES:
            lines[DIFF_LINES:] = [f"… {len(lines) - DIFF_LINES} more lines"]
        return make_visible("\n".join(lines))


class _Pinned(Struct):
    """What is kept of one server."""

    tools: dict[str, Content] = {}
    """As they were first seen or accepted, by name."""

    fresh: list[str] = []
    """New tools of a known server, not accepted yet."""

    pending: dict[str, Content | None] = {}
    """Changed tools as they were last seen; None for a removed one."""

    @property
    def waiting(self) -> dict[str, Content | None]:
        """All that can be accepted."""
        return {name: self.tools[name] for name in self.fresh if name in self.tools} | self.pending


class _File(Struct):
    version: Literal[1] = 1
    servers: dict[str, _Pinned] = {}


class Pins:
    """The pins of one project, in a file that several gateways may share."""

    def __init__(self, folder: str) -> None:
        """`folder` is the project's data directory; the file in it is made when there is something to keep."""
        self._path = os.path.join(folder, "pins.json")

    def check(self, server: str, tools: Iterable[Mapping[str, Any]], *, mode: PinMode = "warn") -> list[PinChange]:
        """Compares what a server offers with its pins, and pins what is first seen. Returns what is not as pinned.

        `tools` are entries as they are offered, after `screening`, so that a pin holds what was read. All tools of a
        new server are pinned at once. A change, and a new tool of a known server, is reported until it is accepted; in
        `strict` mode the tool is withheld until then. `off` checks nothing.

        Raises:
            ConfigError: the file cannot be read or written.
        """
        if mode == "off":
            return []
        seen: dict[str, Content] = {}
        for tool in tools:
            seen.setdefault(tool["name"], _content(tool))
        with self._lock_file() as kept:
            known = kept.servers.get(server)
            if known is None:
                if seen:  # a server without tools, as before a login, stays unknown
                    kept.servers[server] = _Pinned(tools=seen)
                return []
            # These were never accepted: a server that keeps inventing names would fill the file.
            for name in [one for one in known.fresh if one not in seen]:
                known.fresh.remove(name)
                known.tools.pop(name, None)
            changes = _changes(known, seen, strict=mode == "strict")
            known.pending = {}
            for change in changes:
                if change.kind != "added":
                    known.pending |= {change.tool: change.after} | ({change.was: None} if change.was else {})
                elif change.tool not in known.tools:
                    known.tools[change.tool] = seen[change.tool]
                    known.fresh.append(change.tool)
            return changes

    def pending(self, server: str) -> list[PinChange]:
        """What the last check found and nobody has accepted yet. The mode decides whether it is withheld."""
        known = self._load().servers.get(server, _Pinned())
        seen = {name: content for name, content in (known.tools | known.pending).items() if content is not None}
        return _changes(known, seen, strict=False)

    def accept(self, server: str, tool: str | None = None, *, shown: Sequence[PinChange] | None = None) -> list[str]:
        """Pins what was last seen, of one tool or of all. Returns the names of the changed pins.

        `shown` is what the person has seen; nothing else is accepted.

        Raises:
            NotFound: the server is not known, or nothing of that name waits.
            Refused: a tool has changed again since it was shown.
            ConfigError: the file cannot be read or written.
        """
        with self._lock_file() as kept:
            known = kept.servers.get(server)
            if known is None:
                hint = did_you_mean(server, list(kept.servers)) or "its tools are pinned when it is first connected"
                raise NotFound(f"no tools of {server!r} are pinned", hint=hint)
            waiting = known.waiting
            if tool is not None and tool not in waiting:
                hint = did_you_mean(tool, list(waiting)) or "nothing of it waits to be accepted"
                raise NotFound(f"{server} has no changed tool {tool!r}", hint=hint)
            accepted = list(waiting) if tool is None else _with_its_former_name(known, tool)
            if shown is not None:
                _check_shown(shown, {name: waiting[name] for name in accepted})
            for name in accepted:
                content = waiting[name]
                if content is None:
                    known.tools.pop(name, None)
                else:
                    known.tools[name] = content
                known.pending.pop(name, None)
            known.fresh = [name for name in known.fresh if name not in accepted]
            return accepted

    def forget(self, server: str) -> None:
        """Drops the pins of a removed server: when it is seen again, it is new."""
        with self._lock_file() as kept:
            kept.servers.pop(server, None)

    @contextlib.contextmanager
    def _lock_file(self) -> Iterator[_File]:
        """Locks the file and returns its content; changes are written at the end."""
        try:
            make_private_folder(os.path.dirname(self._path))
            lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                wait_for_lock(lock, timeout_seconds=LOCK_WAIT_SECONDS)
                kept = self._load()
                before = _canonical(kept)
                yield kept
                after = _canonical(kept)
                if after != before:
                    write_atomically(self._path, after, is_lasting=True)
            finally:
                os.close(lock)
        except OSError as error:
            raise ConfigError(
                f"cannot keep {self._path}: {error.strerror or error}", hint="check permissions and free space"
            ) from error

    def _load(self) -> _File:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=_File)
        except FileNotFoundError:
            return _File()
        except OSError as error:
            raise ConfigError(f"cannot read {self._path}: {error.strerror}", hint="check its permissions") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{self._path} is damaged: {error}", hint="remove it; every tool is then pinned as it is now"
            ) from error


def digest(name: str, content: Content) -> str:
    """A digest of a tool's name and everything pinned."""
    return sha256(_canonical([name, content])).hexdigest()


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _content(tool: Mapping[str, Any]) -> Content:
    return {part: tool[part] for part in PINNED if tool.get(part) is not None}


def _changes(known: _Pinned, seen: Mapping[str, Content], *, strict: bool) -> list[PinChange]:
    """What is not as it was accepted, in the order of the list, and then what is no longer there."""
    gone = {name: content for name, content in known.tools.items() if name not in seen}
    former: dict[str, list[str]] = defaultdict(list)
    for name, content in gone.items():
        former[digest("", content)].append(name)
    changes: list[PinChange] = []
    for name, after in seen.items():
        before = known.tools.get(name)
        if before is None:
            same = former.get(digest("", after))
            was = same.pop(0) if same else ""
            before = gone.pop(was, None)
            changes.append(PinChange("renamed" if was else "added", name, strict, before, after, was))
        elif digest(name, before) != digest(name, after):
            changes.append(PinChange("changed", name, strict, before, after))
        elif name in known.fresh:
            changes.append(PinChange("added", name, strict, None, after))
    return changes + [PinChange("removed", name, False, content) for name, content in gone.items()]


def _with_its_former_name(known: _Pinned, tool: str) -> list[str]:
    """The tool, and the pin that it had under another name."""
    after = known.waiting[tool]
    if after is None or tool in known.tools:
        return [tool]
    same = (name for name, seen in known.pending.items() if seen is None and known.tools.get(name) == after)
    return [tool, *list(same)[:1]]


def _check_shown(shown: Sequence[PinChange], accepted: Mapping[str, Content | None]) -> None:
    known = {change.tool: change.after for change in shown} | {change.was: None for change in shown if change.was}
    for name, content in accepted.items():
        if name not in known or _canonical(known[name]) != _canonical(content):
            raise Refused(f"it has changed again since it was shown: {name!r}", hint="look at it again, then accept it")


def _compare(part: str, before: Any, after: Any) -> list[str]:
    from difflib import unified_diff

    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) > DIFF_LINES:
        return [f"{part}: {len(old)} lines became {len(new)}", *(f"+{line}" for line in new[:20]), "+…"]
    compared = list(unified_diff(old, new, lineterm="", n=2))[2:]
    return [f"{part}:", *compared] if compared else [f"{part}: only its spaces have changed"]


def _lines(value: Any) -> list[str]:
    """A part of a tool as lines to compare: prose in short ones, anything else as JSON."""
    from textwrap import wrap

    if value is None:
        return []
    if isinstance(value, str):
        return [line for paragraph in value.splitlines() for line in wrap(paragraph, 100) or [""]]
    return msgspec.json.format(_canonical(value), indent=2).decode().splitlines()
