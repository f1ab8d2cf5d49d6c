"""Repeats marked arguments in HTTP headers, as the stateless era requires (`listing.header_params`)."""

from collections.abc import Coroutine
from typing import Any

from msgspec import structs

from binnacle.upstream.listing.header_params import HeaderParam, find_header_params, find_wrong_param, make_headers
from binnacle.upstream.toolsets.toolset import ToolListing, Toolset, ToolsetWrapper, UpstreamAnswer, UpstreamRequest


class ToolsetWithHeaders(ToolsetWrapper):
    """Tools of a server on HTTP, without those whose marks are wrong."""

    def __init__(self, inner: Toolset) -> None:
        super().__init__(inner)
        self._params: dict[str, tuple[HeaderParam, ...]] = {}
        """The marked arguments, by tool."""

    def list_tools(self) -> ToolListing:
        listed = super().list_tools()
        wrong = {tool.name: find_wrong_param(tool.entry["inputSchema"]) for tool in listed.tools}
        tools = tuple(tool for tool in listed.tools if not wrong[tool.name])
        params = {tool.name: find_header_params(tool.entry["inputSchema"]) for tool in tools}
        self._params = {name: some for name, some in params.items() if some}
        notes = (f"{name}: not offered, {why}" for name, why in wrong.items() if why)
        return ToolListing(tools, (*listed.notes, *notes))

    def send(self, request: UpstreamRequest) -> Coroutine[Any, Any, UpstreamAnswer]:
        if request.kind == "tool" and (params := self._params.get(request.params["name"])):
            request = structs.replace(request, headers=make_headers(params, request.params["arguments"]))
        return self._inner.send(request)
