"""The order of the wrappers around a server.

From the inside: tools are screened first, so that a pin holds what is read. Pins see every tool, also those that the
rules leave out, because a missing tool counts as removed. Then come the wrappers of calls: the gate is inside the
record, so that the record includes the time in the queue, and the size before a result was cut.
"""

from typing import NamedTuple

from binnacle.upstream.listing.content_index import rank_of
from binnacle.upstream.listing.pins import Pins
from binnacle.upstream.request_relay import RequestRelay
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.audited import AuditedToolset, AuditLog
from binnacle.upstream.toolsets.cached import CachedToolset
from binnacle.upstream.toolsets.limited import LimitedToolset
from binnacle.upstream.toolsets.overflow import OverflowToolset
from binnacle.upstream.toolsets.pinned import PinnedToolset
from binnacle.upstream.toolsets.screened import ScreenedToolset
from binnacle.upstream.toolsets.selected import SelectedToolset
from binnacle.upstream.toolsets.server_toolset import ServerToolset
from binnacle.upstream.toolsets.toolset import Toolset
from binnacle.upstream.toolsets.with_headers import ToolsetWithHeaders


class SharedParts(NamedTuple):
    """What the toolsets of one gateway have in common."""

    pins: Pins
    audit: AuditLog
    relay: RequestRelay
    results_folder: str
    """Where oversized results are saved."""


class ToolsetChain(NamedTuple):
    """A server with all its wrappers."""

    listing: CachedToolset
    calls: Toolset
    rank: int
    """How much the server is trusted; the lower, the more."""


def wrap_server(server: SupervisedServer, parts: SharedParts) -> ToolsetChain:
    """Puts all wrappers around a server. Calls do not pass through those that only change what is listed."""
    config = server.config
    called: Toolset = ServerToolset(server, parts.relay)
    listed: Toolset = PinnedToolset(ScreenedToolset(called), parts.pins, server=config.name, mode=config.pin)
    if config.transport == "http":
        called = listed = ToolsetWithHeaders(listed)
    listing = CachedToolset(SelectedToolset(listed, config.tools), lambda: server.tools)
    called = LimitedToolset(called, server.gate)
    called = OverflowToolset(called, folder=parts.results_folder, limit_bytes=config.limits.result_bytes)
    return ToolsetChain(listing, AuditedToolset(called, parts.audit), rank_of(config))
