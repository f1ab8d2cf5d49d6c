"""Where secrets may be sent: to https, and to this machine."""

from urllib.parse import urlsplit

from binnacle.errors import ConfigError, UpstreamError
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.address_policy import AddressNearness, spelled_nearness

_HTTP = {"ws": "http", "wss": "https"}

CHECK_HINT = "look at what the server says of its provider; URLs in its auth section go before that"
"""What to do about an address that we refused to ask."""


def is_local(url: str) -> bool:
    """Whether a URL stays on this machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or _is_loopback_number(host)


def origin(url: str) -> str:
    """The scheme, host and port of a URL in one spelling."""
    parts = urlsplit(url)
    scheme = _HTTP.get(parts.scheme.lower(), parts.scheme.lower())
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    is_default = parts.port in (None, {"http": 80, "https": 443}.get(scheme))
    return f"{scheme}://{host}" if is_default else f"{scheme}://{host}:{parts.port}"


def resource_of(url: str) -> str:
    """A server as tokens name it (RFC 8707): its URL in one spelling, without user and fragment."""
    parts = urlsplit(url)
    path = "" if parts.path == "/" and not parts.query else parts.path
    return origin(url) + path + (f"?{parts.query}" if parts.query else "")


def check_private(config: ServerConfig) -> None:
    """Checks that secrets for a server are not sent unencrypted.

    Raises:
        ConfigError: its URL is plain http to another machine.
    """
    if origin(config.url).startswith("https://") or is_local(config.url):
        return
    raise ConfigError(
        f"the credentials of {config.name} would be sent unencrypted to {origin(config.url)}",
        hint=f"use https in its url ({config.source}), or reach it through a tunnel that ends on this machine",
    )


def check_place(url: str, what: str, *, near: str) -> None:
    """Checks that `url`, which somebody else named, may be asked on behalf of the server at `near`.

    A server elsewhere must not make us, or a browser, ask what runs on this machine. This looks at the host as it is
    written; `address_policy` checks where a name leads when we connect.

    Raises:
        UpstreamError: it may not.
    """
    try:
        parts = urlsplit(url)
        is_url = bool(parts.hostname) and parts.port != 0 and not parts.username and not parts.fragment
        is_url = is_url and url.isascii() and url.isprintable() and " " not in url  # terminals show it
    except ValueError:
        is_url = False
    if not is_url or parts.scheme not in ("http", "https"):
        raise UpstreamError(f"the {what} is not a usable URL", hint="the server's operator has to fix it")
    if spelled_nearness(parts.hostname or "") >= AddressNearness.HERE and not is_local(near):
        raise UpstreamError(f"the {what} leads to this machine, and was not asked: {origin(url)}", hint=CHECK_HINT)
    if parts.scheme == "http" and not is_local(url):
        raise UpstreamError(f"the {what} is not https, and was not asked: {origin(url)}", hint=CHECK_HINT)


def _is_loopback_number(host: str) -> bool:
    numbers = host.split(".")
    return len(numbers) == 4 and numbers[0] == "127" and all(one.isascii() and one.isdigit() for one in numbers)
