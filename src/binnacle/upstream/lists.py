"""What servers offered when they were last connected: listed until they are again."""

import contextlib
import os
from hashlib import sha256

import msgspec
from msgspec import Raw, Struct

from binnacle.config.whole import write_whole
from binnacle.upstream.bounds import MAX_LIST_BYTES, bounded
from binnacle.upstream.config import ServerConfig, Source
from binnacle.wire.jsonrpc import UNREADABLE


class Offered(Struct, frozen=True):
    """What a server has, entry by entry as it lists it."""

    tools: tuple[Raw, ...] = ()
    prompts: tuple[Raw, ...] = ()
    resources: tuple[Raw, ...] = ()
    templates: tuple[Raw, ...] = ()


MAX_FILE_BYTES = 5 * MAX_LIST_BYTES
"""Of what is kept of one server: four lists, and a little around them. A larger file is not read."""


class _File(Struct):
    config: str
    """Stands for the configuration it was read under: another one may lead to another server."""

    offered: Offered


class Lists:
    """The last lists of a project's servers, each in a file. Best effort: what is lost is asked for again."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, config: ServerConfig, offered: Offered) -> None:
        content = msgspec.json.encode(_File(_digest(config), offered))
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            write_whole(self._path(config), content)

    def find(self, config: ServerConfig) -> Offered:
        """What a server offered under this configuration; nothing, if that is not known."""
        try:
            with open(self._path(config), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    return Offered()
                found = msgspec.json.decode(file.read(), type=_File)
        except (OSError, *UNREADABLE):
            return Offered()
        return _bounded(found.offered) if found.config == _digest(config) else Offered()

    def _path(self, config: ServerConfig) -> str:
        return os.path.join(self._folder, f"{config.name}.json")


def _bounded(offered: Offered) -> Offered:
    """What is offered of it today, whoever kept it under which bounds."""
    return Offered(
        tools=bounded("tools", offered.tools),
        prompts=bounded("prompts", offered.prompts),
        resources=bounded("resources", offered.resources),
        templates=bounded("templates", offered.templates),
    )


def _digest(config: ServerConfig) -> str:
    shared = msgspec.structs.replace(config, source=Source(config.source.kind))
    return sha256(msgspec.json.encode(shared)).hexdigest()
