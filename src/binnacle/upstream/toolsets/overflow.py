"""Cuts results that are too large for a session, and saves them completely to files that the answer names."""

import asyncio

from binnacle.upstream.answers.oversized_content import cut_content
from binnacle.upstream.answers.oversized_results import cut_result
from binnacle.upstream.answers.result_repair import mark_unstructured
from binnacle.upstream.toolsets.toolset import Result, Toolset, ToolsetWrapper, UpstreamAnswer, UpstreamRequest


class OverflowToolset(ToolsetWrapper):
    """Answers within `limit_bytes`; without a limit at 0."""

    def __init__(self, inner: Toolset, *, folder: str, limit_bytes: int) -> None:
        super().__init__(inner)
        self._folder = folder
        self._limit_bytes = limit_bytes

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        answer = await self._inner.send(request)
        if self._limit_bytes and answer.size_bytes > self._limit_bytes:
            cut = await asyncio.to_thread(self._cut, request, answer.result)
            answer = answer._replace(result=cut)
        if request.promises_structure:
            answer = answer._replace(result=mark_unstructured(answer.result))
        return answer

    def _cut(self, request: UpstreamRequest, result: Result) -> Result:
        limit, folder, name = self._limit_bytes, self._folder, request.subject
        if request.kind == "tool":
            return cut_result(result, limit, folder, name=name, promises_structure=request.promises_structure)[0]
        return cut_content(result, limit, folder, name=name, method=request.method)[0]
