"""What a server knows of a client before it knows which agent that is. Light: every server has it at its start."""

from msgspec import Struct

from binnacle.lifecycle.process import Process


class ClientFacts(Struct, frozen=True, kw_only=True):
    """What a server knows of the client at the other end of a connection."""

    client: str
    """What it calls itself."""

    session: str
    """Public id of the session that its connection stands for."""

    token: str = ""
    """Name of the bearer token that it came with."""

    server: Process
    """The process that serves it."""

    process: Process | None = None
    """Its own process, if that can be told."""
