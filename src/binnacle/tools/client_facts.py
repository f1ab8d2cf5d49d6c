"""What a server knows of a client before it knows its agent. Light, because every server loads it at start-up."""

from msgspec import Struct

from binnacle.lifecycle.process import Process


class ClientFacts(Struct, frozen=True, kw_only=True):
    """What a server knows of the client at the other end of a connection."""

    client: str
    """What it calls itself."""

    session: str
    """Public id of its connection's session."""

    token: str = ""
    """Name of its bearer token."""

    server: Process
    """The process that serves it."""

    process: Process | None = None
    """Its own process, if known."""
