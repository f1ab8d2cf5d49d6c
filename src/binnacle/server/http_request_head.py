"""The head of an HTTP request, which is refused if it is ambiguous.

A request that two parsers could read differently is refused: with two headers for the client, the target or the length
of the body; with a body framing that only some understand; with a target that names another host than the header.
Trailers after the body do not count as headers, because admission could not check them.
"""

from collections.abc import Mapping

from binnacle.server.http_exchange import HttpReply

SAID_ONCE = frozenset(
    {"authorization", "content-length", "content-type", "expect", "host", "origin", "transfer-encoding", "upgrade"}
)
"""Headers that may occur only once, like those that begin with `MCP_PREFIX`. Others may be lists."""

MCP_PREFIX = "mcp-"


class RequestHead:
    """What has been read of the head of one request."""

    __slots__ = ("headers", "is_complete", "repeated", "url")

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[str, str] = {}
        """By their names in lower case."""

        self.repeated = ""
        """A header that occurred twice and must not; empty if there is none."""

        self.is_complete = False

    def add(self, name: bytes, value: bytes) -> None:
        """Adds a header. A trailer, which comes after the head, is dropped."""
        if self.is_complete:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        if key in self.headers:
            if key in SAID_ONCE or key.startswith(MCP_PREFIX):
                self.repeated = key
            text = f"{self.headers[key]}, {text}"
        self.headers[key] = text

    @property
    def announced_size(self) -> int:
        """The announced size of the body; 0 if it was not announced."""
        declared = self.headers.get("content-length", "")
        return int(declared) if declared.isdecimal() else 0

    def check(self) -> tuple[str, str]:
        """The requested path and its query.

        Raises:
            HttpReply: the request is ambiguous.
        """
        if self.repeated or self.headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise HttpReply(400)
        return split_target(self.url, self.headers)


def split_target(url: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
    """The path and the query of a target, which may begin with the host that the header names.

    Raises:
        HttpReply: it is not a path, or it names another host.
    """
    target = url.decode("latin-1")
    if not target.startswith("/"):
        scheme, mark, rest = target.partition("://")
        host, slash, path = rest.partition("/")
        if not mark or scheme.lower() not in ("http", "https") or host.lower() != headers.get("host", "").lower():
            raise HttpReply(400)
        target = f"{slash}{path}"
    path, _, query = target.partition("?")
    return path, query
