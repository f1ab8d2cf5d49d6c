"""Agrees with a server on a version of MCP: the newest that both know.

A server of the stateless era answers `server/discover`. One of the handshake era refuses it, answers nonsense, or does
not answer at all, and is greeted with `initialize`; after a moment of silence both are asked at once, because a
server that starts slowly and one that ignores what it does not know look the same.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Raw, Struct

from binnacle import __version__
from binnacle.errors import UpstreamDown, UpstreamError
from binnacle.upstream import server_bounds
from binnacle.upstream.transports.transport import Transport
from binnacle.wire.hidden_text import make_readable
from binnacle.wire.jsonrpc import UNREADABLE, RpcError
from binnacle.wire.mcp import HANDSHAKE_VERSIONS, LATEST_HANDSHAKE, STATELESS_VERSIONS, UNSUPPORTED_VERSION, Era

CLIENT_INFO = {"name": "binnacle", "title": "Binnacle", "version": __version__}
CAPABILITIES: dict[str, Any] = {"elicitation": {}}
"""What we can do for a server: pass its questions on to a client that can show them."""

LATEST_STATELESS = STATELESS_VERSIONS[-1]
SILENCE_SECONDS = 1.5
"""Without an answer to `server/discover`, after which `initialize` is sent as well."""


class AgreedProtocol(NamedTuple):
    """The version that both sides speak, and what the server says of itself."""

    era: Era
    version: str
    capabilities: dict[str, Any]
    server: dict[str, str]
    """Name, title and version."""


class NegotiatingClient(Protocol):
    """What negotiating needs of a connection."""

    name: str
    link: Transport

    def speak(self, era: Era, version: str) -> None:
        """Sends what follows in this version."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Raw:
        """The result of a request."""


class _Discovered(Struct):
    versions: list[str] = msgspec.field(name="supportedVersions", default_factory=list)
    capabilities: Raw = Raw(b"{}")


class _Initialized(Struct):
    version: str = msgspec.field(name="protocolVersion", default="")
    capabilities: Raw = Raw(b"{}")
    server: Raw = msgspec.field(name="serverInfo", default=Raw(b"{}"))


async def negotiate(client: NegotiatingClient, protocol: Literal["auto", "handshake", "stateless"]) -> AgreedProtocol:
    """Agrees on a version.

    Raises:
        UpstreamError: there is none, or the server answers nonsense.
    """
    try:
        if protocol == "handshake":
            return await _initialize(client)
        if protocol == "stateless":
            return _adopt(client.name, await _discover(client))
        return await _find_era(client)
    except RpcError as error:
        raise UpstreamError(f"{client.name} refused to connect: {error.message}", hint="see its log") from error
    except UNREADABLE as error:
        raise UpstreamError(f"{client.name} answered nonsense: {error}", hint="is it an MCP server?") from error


async def _find_era(client: NegotiatingClient) -> AgreedProtocol:
    """Asks in the stateless era first; whatever is no answer of that era leads to the handshake."""
    discovering = asyncio.ensure_future(_discover(client))
    try:
        await asyncio.wait({discovering}, timeout=SILENCE_SECONDS)
        if not discovering.done():
            return await _ask_in_both(client, discovering)
        try:
            found = discovering.result()
        except RpcError as error:
            if error.code == UNSUPPORTED_VERSION and not _knows_handshake(error.data):
                raise
        except UpstreamDown:
            if client.link.ended.done():
                raise
        except UNREADABLE:
            pass
        else:
            if any(version in STATELESS_VERSIONS for version in found.versions):
                return _adopt(client.name, found)
        return await _initialize(client)
    finally:
        discovering.cancel()


async def _ask_in_both(client: NegotiatingClient, discovering: "asyncio.Future[_Discovered]") -> AgreedProtocol:
    """The first good answer in either era."""
    initializing = asyncio.ensure_future(_initialize(client))
    try:
        both: set[asyncio.Future[Any]] = {discovering, initializing}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if discovering.done() and not discovering.exception():
            return _adopt(client.name, discovering.result())
        return await initializing
    finally:
        initializing.cancel()


async def _discover(client: NegotiatingClient) -> _Discovered:
    client.speak("stateless", LATEST_STATELESS)
    return msgspec.json.decode(await client.ask("server/discover", {}), type=_Discovered)


def _adopt(name: str, found: _Discovered) -> AgreedProtocol:
    version = next((one for one in reversed(STATELESS_VERSIONS) if one in found.versions), None)
    if version is None:
        spoken = make_readable(", ".join(found.versions[:10]), 200)
        raise UpstreamError(f"{name} speaks {spoken}; we speak {LATEST_STATELESS}", hint="update the older of the two")
    return AgreedProtocol("stateless", version, _read_capabilities(found.capabilities), {})


async def _initialize(client: NegotiatingClient) -> AgreedProtocol:
    client.speak("handshake", "")
    params = {"protocolVersion": LATEST_HANDSHAKE, "capabilities": CAPABILITIES, "clientInfo": CLIENT_INFO}
    found = msgspec.json.decode(await client.ask("initialize", params), type=_Initialized)
    if found.version not in HANDSHAKE_VERSIONS:
        raise UpstreamError(
            f"{client.name} speaks version {found.version[:40]!r}, which nobody here knows",
            hint="update the older of the two",
        )
    return AgreedProtocol(
        "handshake", found.version, _read_capabilities(found.capabilities), _read_server(found.server)
    )


def _read_capabilities(raw: Raw) -> dict[str, Any]:
    """What a server can do; nothing if it needs too many words for it."""
    if memoryview(raw).nbytes > server_bounds.MAX_HELLO_BYTES:
        return {}
    return msgspec.json.decode(raw, type=dict[str, Any])


def _read_server(raw: Raw) -> dict[str, str]:
    """What a server says of itself, short and readable."""
    try:
        found = msgspec.json.decode(raw, type=dict[str, Raw])
        said = {key: msgspec.json.decode(found[key]) for key in ("name", "title", "version") if key in found}
    except UNREADABLE:
        return {}
    return {key: make_readable(text, 200) for key, text in said.items() if isinstance(text, str)}


def _knows_handshake(data: Any) -> bool:
    supported = data.get("supported", ()) if isinstance(data, dict) else ()
    return not supported or any(version in HANDSHAKE_VERSIONS for version in supported)
