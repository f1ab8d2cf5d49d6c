"""Resources that results link to, and which server they belong to: few of them are in any list."""

import contextlib
import re
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle.wire.jsonrpc import UNREADABLE

MAX_KNOWN_LINKS = 5000
"""Addresses that are remembered; the oldest make room."""

MAX_URI_CHARACTERS = 4000
"""Characters of one."""

_POINTS = re.compile(rb'"resource(?:_link)?"')


class _Target(Struct):
    uri: str


class _Block(Struct):
    """A part of a result that points to a resource or holds one; or a message of a prompt around such a part."""

    type: str = ""
    uri: str = ""
    resource: _Target | None = None
    content: "_Block | None" = None


class ResourceLinks:
    """Which server linked to which resource last. A server cannot take over the links of a more trusted one."""

    def __init__(self, known: int = MAX_KNOWN_LINKS) -> None:
        self._known = known
        self._owners: dict[str, tuple[str, int]] = {}

    def note(self, server: str, parts: Any, *, rank: int = 0) -> None:
        """Looks for resources in what a server answered: the content of a tool's result, the messages of a prompt.

        The lower its `rank`, the more the server is trusted.
        """
        if not isinstance(parts, Raw) or not _POINTS.search(parts):
            return
        with contextlib.suppress(*UNREADABLE):
            for part in msgspec.json.decode(parts, type=list[Raw]):
                with contextlib.suppress(*UNREADABLE):
                    self._add(_uri(msgspec.json.decode(part, type=_Block)), server, rank)

    def owner(self, uri: str) -> str | None:
        """The server that linked to a resource."""
        return self._owners.get(uri, (None, 0))[0]

    def _add(self, uri: str, server: str, rank: int) -> None:
        if not uri or len(uri) > MAX_URI_CHARACTERS:
            return
        before = self._owners.pop(uri, None)
        self._owners[uri] = before if before is not None and before[1] < rank else (server, rank)
        if len(self._owners) > self._known:
            del self._owners[next(iter(self._owners))]


def _uri(block: _Block) -> str:
    if block.content is not None:
        return _uri(block.content)
    if block.type == "resource_link":
        return block.uri
    return block.resource.uri if block.type == "resource" and block.resource is not None else ""
