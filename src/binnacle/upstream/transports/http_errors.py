"""Why a request over HTTP has no answer. `http_failures` puts it into words."""


class NoAnswer(Exception):
    """A request got no answer, or only part of one."""


class ServerUnreachable(NoAnswer):
    """No connection could be made."""

    def __init__(self, os_error: OSError) -> None:
        super().__init__(os_error)
        self.os_error = os_error


class ConnectTimedOut(ServerUnreachable):
    """No connection was made in time."""


class HostNotFound(ServerUnreachable):
    """The host has no address."""


class AddressForbidden(ServerUnreachable):
    """The host leads to an address that is not allowed."""


class TlsFailed(ServerUnreachable):
    """The TLS handshake failed."""


class CertificateInvalid(TlsFailed):
    """The certificate is not valid."""


class ProxyUnreachable(ServerUnreachable):
    """We could not connect to the proxy."""


class ProxyRefused(NoAnswer):
    """The proxy refused us."""


class ConnectionLost(NoAnswer):
    """The connection ended with a system error."""

    def __init__(self, os_error: OSError) -> None:
        super().__init__(os_error)
        self.os_error = os_error


class ConnectionClosed(NoAnswer):
    """The connection was closed before the answer began."""


class AnswerTruncated(NoAnswer):
    """The connection was closed in the middle of the answer."""


class NotHttp(NoAnswer):
    """The answer is not HTTP."""
