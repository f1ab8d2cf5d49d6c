"""The head of an HTTP request as it is read: one meaning, or none.

Whatever two readers could take for different requests is refused: a header that says who asks, for what, or how long
the body is, said twice; a body framed in a way that only some understand; a target that names another host than the
header does. What comes after the body (trailers) is no header: it was not there when the request was let in.
"""

from collections.abc import Mapping

from binnacle.server.http_exchange import HttpReply

SAID_ONCE = frozenset(
    {"authorization", "content-length", "content-type", "expect", "host", "origin", "transfer-encoding", "upgrade"}
)
"""Headers that a request has once. So are all that begin with `MCP_PREFIX`; any other may be a list."""

MCP_PREFIX = "mcp-"


class RequestHead:
    """What has been read of the head of one request."""

    __slots__ = ("headers", "is_complete", "repeated", "url")

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[str, str] = {}
        """By their names in lower case."""

        self.repeated = ""
        """A header that was said twice and must not be."""

        self.is_complete = False

    def add(self, name: bytes, value: bytes) -> None:
        """Takes a header. One that comes after the head is a trailer, and dropped."""
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
        """Bytes of the body, as far as they were announced."""
        declared = self.headers.get("content-length", "")
        return int(declared) if declared.isdecimal() else 0

    def check(self) -> str:
        """The path that is asked for.

        Raises:
            Reply: the request could be read in more than one way.
        """
        if self.repeated or self.headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise HttpReply(400)
        return path_of(self.url, self.headers)


def path_of(url: bytes, headers: Mapping[str, str]) -> str:
    """The path of a target. Before it, a target may name a host: that of the header.

    Raises:
        Reply: it is no path, or names another host.
    """
    target = url.decode("latin-1")
    if not target.startswith("/"):
        scheme, mark, rest = target.partition("://")
        host, slash, path = rest.partition("/")
        if not mark or scheme.lower() not in ("http", "https") or host.lower() != headers.get("host", "").lower():
            raise HttpReply(400)
        target = f"{slash}{path}"
    return target.partition("?")[0]
