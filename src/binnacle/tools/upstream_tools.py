"""Tools of upstream servers, as tools of the catalog."""

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw, Struct

from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolAlias, ToolHints, ToolSpec
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.listing.screening import decode_entry
from binnacle.upstream.toolsets.prefixed import OfferedTool
from binnacle.upstream.toolsets.tool_names import display_name
from binnacle.upstream.toolsets.toolset import Result
from binnacle.wire.hidden_text import make_readable
from binnacle.wire.jsonrpc import UNREADABLE

MAX_PROGRESS_CHARACTERS = 500
"""Characters shown of a server's progress message."""


class _Annotations(Struct):
    title: str = ""
    read_only: bool = msgspec.field(name="readOnlyHint", default=False)
    destructive: bool = msgspec.field(name="destructiveHint", default=True)
    idempotent: bool = msgspec.field(name="idempotentHint", default=False)
    open_world: bool = msgspec.field(name="openWorldHint", default=True)


class _Entry(Struct):
    title: str = ""
    description: str = ""
    annotations: _Annotations | None = None


class _Progress(Struct):
    progress: float = 0
    total: float | None = None
    message: str = ""


class UnreadParams(Struct):
    """Parameters that only the upstream server decodes."""


def upstream_tools(gateway: Gateway, used: Callable[[str], None]) -> Iterable[ToolSpec]:
    """The tools that upstream servers offer now; `used` is called after every call that was answered."""
    return [_spec(gateway, offer, used) for offer in gateway.offers().values()]


def _spec(gateway: Gateway, offer: OfferedTool, used: Callable[[str], None]) -> ToolSpec:
    shown = display_name(offer.server, offer.tool.name)
    try:
        entry = msgspec.json.decode(offer.entry, type=_Entry)
    except msgspec.ValidationError:
        entry = _Entry()
    said = entry.annotations or _Annotations()

    async def run(caller: Caller, arguments: Raw) -> ToolReply:
        result = await gateway.call(
            offer.name, arguments, caller.client, who=caller.actor.name, progress=progress_reporter(caller)
        )
        used(offer.name)
        return ToolReply(None, "", is_error=result.get("isError") == Raw(b"true"), foreign=adapt_result(result, caller))

    return ToolSpec(
        name=offer.name,
        title=entry.title or said.title or shown,
        description=entry.description,
        category=f"upstream: {offer.server}",
        hints=ToolHints(
            read_only=said.read_only,
            destructive=said.destructive and not said.read_only,
            idempotent=said.idempotent or said.read_only,
            open_world=said.open_world,
        ),
        parameters=UnreadParams,
        run=run,
        aliases=(ToolAlias(name=shown),),
        timeout=None,
        prefix=True,
        foreign=offer.entry,
        promises_structure=offer.promises_structure,
    )


def adapt_result(result: Result, caller: Caller) -> Result:
    """A result in the form of the client's era. `_meta` is decoded, because our MCP server adds to it."""
    if "_meta" in result:
        result = {**result, "_meta": decode_entry(result["_meta"]) or {}}
    if "resultType" in result and (caller.client is None or caller.client.era == "handshake"):
        result = {key: value for key, value in result.items() if key != "resultType"}
    return result


def progress_reporter(caller: Caller) -> Callable[[Raw], None] | None:
    """A callback that forwards a server's progress to the client; None if the client wants none."""
    if caller.client is None or not caller.client.wants_progress:
        return None

    def tell(told: Raw) -> None:
        try:
            progress = msgspec.json.decode(told, type=_Progress)
        except UNREADABLE:
            return
        message = make_readable(progress.message, MAX_PROGRESS_CHARACTERS)
        caller.progress(progress.progress, progress.total, message)

    return tell
