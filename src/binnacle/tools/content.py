"""Resources and prompts of other MCP servers, for a session that may use them."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from binnacle.errors import BinnacleError
from binnacle.tools.caller import Caller
from binnacle.tools.hints import render_hint
from binnacle.tools.upstream import passed_on, teller
from binnacle.upstream.calls import Result
from binnacle.upstream.contents import Piece
from binnacle.upstream.gateway import Asked, Gateway
from binnacle.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from binnacle.wire.mcp import RESOURCE_NOT_FOUND, CompleteParams


class UpstreamContent:
    """What the servers of a gateway have besides tools. Whose something is, is looked up and never told from a name."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def resources(self) -> Mapping[str, Raw]:
        return _entries(self._gateway.contents().resources)

    def templates(self) -> Mapping[str, Raw]:
        return _entries(self._gateway.contents().templates)

    def prompts(self) -> Mapping[str, Raw]:
        return _entries(self._gateway.contents().prompts)

    async def read(self, uri: str, caller: Caller) -> Result | None:
        missing = self._unknown(uri, caller)
        for owner in self._gateway.owners(uri):
            try:
                return await self._ask(owner, "resources/read", {"uri": uri}, caller)
            except RpcError as error:
                if not _says_missing(error):
                    raise
                missing = RpcError(_missing(caller), error.message, error.data)
        if missing is not None:
            raise missing
        return None

    def _unknown(self, uri: str, caller: Caller) -> RpcError | None:
        """Says who has resources, to a client that asks for one that nobody has."""
        contents = self._gateway.contents()
        having = dict.fromkeys(one.server for one in (*contents.resources.values(), *contents.templates.values()))
        if not having:
            return None
        text = f"no resource {uri!r}, and no server is known to have it; these have resources: {', '.join(having)}"
        return RpcError(_missing(caller), text, {"uri": uri, "servers": list(having)})

    async def prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Result | None:
        found = self._gateway.contents().prompts.get(name)
        if found is None:
            return None
        return await self._ask(found.server, "prompts/get", {"name": found.name, "arguments": arguments}, caller)

    async def complete(self, params: CompleteParams, caller: Caller) -> Result | None:
        contents = self._gateway.contents()
        prompt = contents.prompts.get(params.ref.name)
        owners = (prompt.server,) if prompt else self._gateway.owners(params.ref.uri)
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
        await self._gateway.follow(uris)

    async def _ask(self, server: str, method: Asked, params: Mapping[str, Any], caller: Caller) -> Result:
        try:
            result = await self._gateway.ask(
                server, method, params, caller.client, who=caller.actor.name, progress=teller(caller)
            )
            return passed_on(result, caller)
        except BinnacleError as error:
            told = f"[{error.code}] {error.message}"
            hint = render_hint(error, (), called="")
            raise RpcError(INTERNAL_ERROR, f"{told}; {hint}" if hint else told, error.to_dict(hint=hint)) from error


def _entries(pieces: Mapping[str, Piece]) -> dict[str, Raw]:
    return {name: piece.entry for name, piece in pieces.items()}


def _says_missing(error: RpcError) -> bool:
    """Whether a server of either era says that it has no such resource."""
    named = isinstance(error.data, dict) and "uri" in error.data
    return error.code == RESOURCE_NOT_FOUND or (error.code == INVALID_PARAMS and named)


def _missing(caller: Caller) -> int:
    """The code by which the client's era says that there is no such resource."""
    return RESOURCE_NOT_FOUND if caller.client is None or caller.client.era == "handshake" else INVALID_PARAMS
