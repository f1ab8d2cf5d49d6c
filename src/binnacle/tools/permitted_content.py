"""Resources and prompts of upstream servers that a session may use."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Raw

from binnacle.errors import BinnacleError
from binnacle.tools.caller import Caller
from binnacle.tools.hints import render_hint
from binnacle.tools.upstream_tools import adapt_result, progress_reporter
from binnacle.upstream.gateway import ContentMethod, Gateway
from binnacle.upstream.listing.content_index import ContentItem
from binnacle.upstream.toolsets.toolset import Result
from binnacle.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from binnacle.wire.mcp import RESOURCE_NOT_FOUND, CompleteParams

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that tool names replace by an underscore."""


class PermittedContent:
    """What the servers of a gateway have besides tools. Owners are looked up, never guessed from a name."""

    def __init__(self, gateway: Gateway, denied: Sequence[str] = ()) -> None:
        """`denied` are the patterns of tools that the session may not use."""
        self._gateway = gateway
        self._denied = denied

    def resources(self) -> Mapping[str, Raw]:
        return self._entries(self._gateway.contents().resources)

    def templates(self) -> Mapping[str, Raw]:
        return self._entries(self._gateway.contents().templates)

    def prompts(self) -> Mapping[str, Raw]:
        return self._entries(self._gateway.contents().prompts)

    def _entries(self, pieces: Mapping[str, ContentItem]) -> dict[str, Raw]:
        return {
            name: one.entry for name, one in pieces.items() if not self._is_denied(name) and self._may_use(one.server)
        }

    def _is_denied(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._denied)

    def _may_use(self, server: str) -> bool:
        """Whether a session may use a server: not if all of the server's tools are denied."""
        return not self._is_denied(f"mcp_{_FOREIGN.sub('_', server)}_*")

    def _owners(self, uri: str) -> tuple[str, ...]:
        return tuple(server for server in self._gateway.owners(uri) if self._may_use(server))

    def _prompt(self, name: str) -> ContentItem | None:
        found = self._gateway.contents().prompts.get(name)
        return found if found and not self._is_denied(name) and self._may_use(found.server) else None

    async def read(self, uri: str, caller: Caller) -> Result | None:
        missing = self._unknown(uri, caller)
        for owner in self._owners(uri):
            try:
                return await self._ask(owner, "resources/read", {"uri": uri}, caller)
            except RpcError as error:
                if not _says_missing(error):
                    raise
                missing = RpcError(_missing_code(caller), error.message, error.data)
        if missing is not None:
            raise missing
        return None

    def _unknown(self, uri: str, caller: Caller) -> RpcError | None:
        """The error for a resource that no server has. It names the servers that have resources."""
        contents = self._gateway.contents()
        pieces = (*contents.resources.values(), *contents.templates.values())
        having = dict.fromkeys(one.server for one in pieces if self._may_use(one.server))
        if not having:
            return None
        text = f"no resource {uri!r}, and no server is known to have it; these have resources: {', '.join(having)}"
        return RpcError(_missing_code(caller), text, {"uri": uri, "servers": list(having)})

    async def prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Result | None:
        found = self._prompt(name)
        if found is None:
            return None
        return await self._ask(found.server, "prompts/get", {"name": found.name, "arguments": arguments}, caller)

    async def complete(self, params: CompleteParams, caller: Caller) -> Result | None:
        prompt = self._prompt(params.ref.name)
        owners = (prompt.server,) if prompt else self._owners(params.ref.uri)
        if not owners:
            return None
        about = {"name": prompt.name} if prompt else {"uri": params.ref.uri}
        asked = {
            "ref": {"type": params.ref.type, **about},
            "argument": msgspec.to_builtins(params.argument),
            **({"context": params.context} if params.context else {}),
        }
        try:
            return await self._ask(owners[0], "completion/complete", asked, caller)
        except RpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            return {"completion": {"values": [], "hasMore": False}}

    async def follow(self, uris: frozenset[str]) -> None:
        await self._gateway.follow(frozenset(uri for uri in uris if self._owners(uri)))

    async def _ask(self, server: str, method: ContentMethod, params: Mapping[str, Any], caller: Caller) -> Result:
        try:
            result = await self._gateway.ask(
                server, method, params, caller.client, who=caller.actor.name, progress=progress_reporter(caller)
            )
            return adapt_result(result, caller)
        except BinnacleError as error:
            told = f"[{error.code}] {error.message}"
            hint = render_hint(error, (), called="")
            raise RpcError(INTERNAL_ERROR, f"{told}; {hint}" if hint else told, error.to_dict(hint=hint)) from error


def _says_missing(error: RpcError) -> bool:
    """Whether a server, of either era, says that it has no such resource."""
    named = isinstance(error.data, dict) and "uri" in error.data
    return error.code == RESOURCE_NOT_FOUND or (error.code == INVALID_PARAMS and named)


def _missing_code(caller: Caller) -> int:
    """The error code for a missing resource in the client's era."""
    return RESOURCE_NOT_FOUND if caller.client is None or caller.client.era == "handshake" else INVALID_PARAMS
