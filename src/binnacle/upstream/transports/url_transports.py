"""Makes the transport for a server at a URL. A separate module, because each kind loads what others do not need."""

from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.http_client import Credentials
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.transport import Receive, Transport


def make_url_transport(
    config: ServerConfig,
    receive: Receive,
    *,
    session: HttpSession,
    credentials: Credentials,
) -> Transport:
    """The transport that a server's configuration names. It is not open yet."""
    if config.transport == "websocket":
        from binnacle.upstream.transports.websocket import WebSocketTransport  # loads aiohttp

        return WebSocketTransport(config, receive, session=session, credentials=credentials)
    if config.transport == "sse":
        from binnacle.upstream.transports.legacy_sse import SseTransport

        return SseTransport(config, receive, session=session, credentials=credentials)
    from binnacle.upstream.transports.fallback import FallbackTransport

    return FallbackTransport(config, receive, session=session, credentials=credentials)
