"""Why a request over HTTP has no answer. `http_failures` puts it into words."""


class NoAnswer(Exception):
    """A request that has no answer, or only part of one."""


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
    """The host leads where nobody may be led."""


class TlsFailed(ServerUnreachable):
    """TLS could not be agreed on."""


class CertificateInvalid(TlsFailed):
    """The certificate is not valid."""


class ProxyUnreachable(ServerUnreachable):
    """The proxy on the way could not be connected to."""


class ProxyRefused(NoAnswer):
    """The proxy on the way does not let us through."""


class ConnectionLost(NoAnswer):
    """The connection ended, for a reason of the system."""

    def __init__(self, os_error: OSError) -> None:
        super().__init__(os_error)
        self.os_error = os_error


class ConnectionClosed(NoAnswer):
    """The connection was closed before the answer began."""


class AnswerTruncated(NoAnswer):
    """The connection was closed in the middle of the answer."""


class NotHttp(NoAnswer):
    """What came back is no HTTP."""
