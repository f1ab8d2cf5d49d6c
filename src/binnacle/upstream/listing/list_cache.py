"""What servers offered when they were last connected, listed until they are connected again."""

import contextlib
import os
from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec import Raw, Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder
from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.listing.entry_checks import parse_entries
from binnacle.upstream.server_bounds import MAX_LIST_BYTES, ListKind, limit_entries
from binnacle.wire.jsonrpc import UNREADABLE


class OfferedLists(Struct, frozen=True):
    """What a server has, entry by entry as it lists it."""

    tools: tuple[Raw, ...] = ()
    prompts: tuple[Raw, ...] = ()
    resources: tuple[Raw, ...] = ()
    templates: tuple[Raw, ...] = ()


MAX_FILE_BYTES = 5 * MAX_LIST_BYTES
"""Bytes kept of one server: four lists, and a little more. A larger file is not read."""


class _File(Struct):
    config: str
    """A digest of the configuration: another one may lead to another server."""

    offered: OfferedLists
    notes: tuple[str, ...] = ()
    """What it listed beyond the bounds."""


class ListCache:
    """The last lists of a project's servers, each in a file. Best effort: what is lost is asked for again."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[ServerConfig, OfferedLists, tuple[str, ...]]] = {}
        """What was saved last, by server."""

    def keep_changes(self, config: ServerConfig, offered: OfferedLists, notes: Sequence[str] = ()) -> None:
        """Saves what a server offers, if it differs from what was saved last."""
        now = (config, offered, tuple(notes))
        if self._kept.get(config.name) != now:
            self._kept[config.name] = now
            self.keep(config, offered, notes)

    def keep(self, config: ServerConfig, offered: OfferedLists, notes: Sequence[str] = ()) -> None:
        content = msgspec.json.encode(_File(_digest(config), offered, tuple(notes)))
        with contextlib.suppress(OSError):
            make_private_folder(self._folder)
            write_atomically(self._path(config), content)

    def find(self, config: ServerConfig) -> OfferedLists:
        """What a server offered under this configuration; empty if unknown."""
        found = self._read(config)
        return _check(found.offered) if found else OfferedLists()

    def find_notes(self, config: ServerConfig) -> tuple[str, ...]:
        """What it listed beyond the bounds."""
        found = self._read(config)
        return found.notes if found else ()

    def _read(self, config: ServerConfig) -> _File | None:
        try:
            with open(self._path(config), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    return None
                found = msgspec.json.decode(file.read(), type=_File)
        except (OSError, *UNREADABLE):
            return None
        return found if found.config == _digest(config) else None

    def _path(self, config: ServerConfig) -> str:
        return os.path.join(self._folder, f"{config.name}.json")


def _check(offered: OfferedLists) -> OfferedLists:
    """What today's rules allow of a saved list."""
    return OfferedLists(
        tools=_check_list("tools", offered.tools),
        prompts=_check_list("prompts", offered.prompts),
        resources=_check_list("resources", offered.resources),
        templates=_check_list("templates", offered.templates),
    )


def _check_list(kind: ListKind, entries: tuple[Raw, ...]) -> tuple[Raw, ...]:
    return parse_entries(kind, limit_entries(kind, entries)).entries


def _digest(config: ServerConfig) -> str:
    shared = msgspec.structs.replace(config, source=ConfigSource(config.source.kind))
    return sha256(msgspec.json.encode(shared)).hexdigest()
