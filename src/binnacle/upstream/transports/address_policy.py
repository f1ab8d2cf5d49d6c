"""Where a connection may lead: the resolved address decides, whatever its name or spelling.

A project, or a server that names another address, must not make us connect to this machine or its private network. A
name proves nothing: it may resolve to `127.0.0.1`, now or the next time, and a number has many spellings. So the rule
applies to resolved addresses when we connect, here and nowhere else. What a person has written in their own file or on
the command line may lead anywhere.
"""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from binnacle.upstream.configuration.server_config import ServerConfig


class AddressNearness(IntEnum):
    """How near to us an address is. A permission for one kind includes those before it."""

    PUBLIC = 0
    PRIVATE = 1
    HERE = 2
    """This machine."""

    SPECIAL = 3
    """Link-local addresses, and cloud services that give out credentials: no MCP server is there."""


ANYWHERE = AddressNearness.SPECIAL

METADATA_ADDRESSES = frozenset(
    map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"))
)
"""Where clouds give a machine its credentials."""

_NAT64 = ip_network("64:ff9b::/96")
_WORDS = {
    AddressNearness.PRIVATE: "a private network",
    AddressNearness.HERE: "this machine",
    AddressNearness.SPECIAL: "an address that is for no server",
}


class AddressNotAllowed(OSError):
    """An address that must not be connected to."""

    def __init__(self, nearness: AddressNearness) -> None:
        super().__init__(errno.EACCES, f"leads to {_WORDS[nearness]}")


def nearness_of(address: str) -> AddressNearness:
    """How near a numeric address is."""
    found = _embedded_address(ip_address(address.partition("%")[0]))
    if found in METADATA_ADDRESSES or found.is_link_local or found.is_multicast:
        return AddressNearness.SPECIAL
    if found.is_loopback or found.is_unspecified:
        return AddressNearness.HERE
    if found.is_reserved:
        return AddressNearness.SPECIAL
    return AddressNearness.PUBLIC if found.is_global else AddressNearness.PRIVATE


def _embedded_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address in an IPv6 address, if there is one."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    assert isinstance(_NAT64, IPv6Network)
    is_old = address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1)
    return IPv4Address(int(address) & 0xFFFFFFFF) if is_old else address


def written_nearness(url: str) -> AddressNearness:
    """How near a URL leads, as a reader can see: by `localhost`, or by a plain number."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return AddressNearness.PUBLIC
    if "@" in parts.netloc or "\\" in parts.netloc:
        return AddressNearness.PUBLIC
    if host == "localhost":
        return AddressNearness.HERE
    try:
        found = ip_address(host)
    except ValueError:
        return AddressNearness.PUBLIC
    return nearness_of(host) if str(found) == host and _embedded_address(found) == found else AddressNearness.PUBLIC


def spelled_nearness(host: str) -> AddressNearness:
    """How near a host leads, without resolving it: any spelling of a number counts."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return AddressNearness.HERE
    try:
        found = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        return AddressNearness.PUBLIC
    return max(nearness_of(str(address[0])) for *_, address in found)


def limit_of(config: ServerConfig) -> AddressNearness:
    """How near the connections to a server may lead.

    A person's own URL may lead anywhere. The URL of a project or a discipline, which a person has trusted, may lead to
    this machine or a private network only if it plainly says so.
    """
    if config.source.kind in ("user", "cli") or config.is_own:
        return ANYWHERE
    written = written_nearness(config.url)
    return written if written < AddressNearness.SPECIAL else AddressNearness.PUBLIC


async def limit_for(url: str, config: ServerConfig) -> AddressNearness:
    """How near a request on behalf of a server may lead, to a URL that the server or somebody else named.

    Its own origin has the limit of the server, and a URL in its configuration the limit of what was written there. Any
    other URL must be public, unless the server itself is plainly on this machine or in a private network.
    """
    if _origin(url) == _origin(config.url):
        return limit_of(config)
    if url in (config.auth.auth_url, config.auth.token_url):
        return ANYWHERE if limit_of(config) == ANYWHERE else min(written_nearness(url), AddressNearness.HERE)
    written = min(written_nearness(config.url), AddressNearness.HERE)
    return written or await _nearness_by_name(config)


async def _nearness_by_name(config: ServerConfig) -> AddressNearness:
    """Private, if the person's own server has a name in a private network: its login is there as well."""
    if limit_of(config) != ANYWHERE:
        return AddressNearness.PUBLIC
    parts = urlsplit(config.url)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, 0, type=socket.SOCK_STREAM)
    except OSError:
        return AddressNearness.PUBLIC
    nearest = {nearness_of(str(address[0])) for *_, address in found}
    return AddressNearness.PRIVATE if nearest == {AddressNearness.PRIVATE} else AddressNearness.PUBLIC


def check_address(address: str, limit: AddressNearness) -> None:
    """Checks that we may connect to a numeric address.

    Raises:
        AddressNotAllowed: we may not.
    """
    if limit < ANYWHERE and (nearness := nearness_of(address)) > limit:
        raise AddressNotAllowed(nearness)


def check_host(host: str, limit: AddressNearness) -> None:
    """Checks that a proxy, which resolves names itself, may be asked for a host.

    Raises:
        AddressNotAllowed: it may not, as far as its spelling shows.
    """
    if (nearness := spelled_nearness(host)) > limit:
        raise AddressNotAllowed(nearness)


def allowed_addresses(found: Sequence[Any], limit: AddressNearness) -> list[Any]:
    """The resolved addresses of a host that we may connect to.

    Raises:
        AddressNotAllowed: there are none.
    """
    refused: AddressNotAllowed | None = None
    kept: list[Any] = []
    for one in found:
        try:
            check_address(str(one[4][0]), limit)
            kept.append(one)
        except AddressNotAllowed as error:
            refused = error
    if not kept and refused is not None:
        raise refused
    return kept


_limit: ContextVar[AddressNearness] = ContextVar("limit", default=ANYWHERE)


@contextlib.contextmanager
def limit_addresses(limit: AddressNearness) -> Iterator[None]:
    """Keeps the connections that aiohttp makes in the block from leading nearer than `limit`."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def open_socket(found: Any) -> socket.socket:
    """Makes the socket for a resolved address, as aiohttp asks for it right before it connects."""
    family, kind, protocol, _, address = found
    if family in (socket.AF_INET, socket.AF_INET6):
        check_address(str(address[0]), _limit.get())
    return socket.socket(family=family, type=kind, proto=protocol)


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        return scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(scheme)
    except ValueError:
        return "", "", None
