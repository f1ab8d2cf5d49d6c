"""The tools of a session in the hands of a turn: every call is told to the client, and takes the turn's pace."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from binnacle.wire.acp import ToolKind
from scripted_agent.client_reports import ClientReports
from scripted_agent.mcp_servers import Answer, Servers, Tool

Pace = Callable[[], Awaitable[None]]
"""Waited for before every step."""

_READS = re.compile(r"(^|[_-])(list|next|get|status|stack|search)([_-]|$)")
_RUNS = re.compile(r"^(debug|test)_")


class Tools:
    """Calls tools of the session's servers."""

    def __init__(self, servers: Servers, reports: ClientReports, pace: Pace) -> None:
        self._servers = servers
        self._reports = reports
        self._pace = pace

    def find(self, *names: str) -> Tool | None:
        """The first of these tools that the session has."""
        return self._servers.find(*names)

    async def use(self, *names: str, **arguments: Any) -> Answer:
        """Calls the first of these tools that there is. That there is none is an answer, too."""
        tool = self.find(*names)
        if tool is None:
            return Answer(text=f"there is no tool {names[0]} here", is_error=True, code="E_TOOL_DISABLED")
        await self._pace()
        async with self._reports.call(tool.name, _kind(tool.name), given=arguments) as call:
            answer = await self._servers.call(tool, arguments)
            call.ended(answer.text, failed=answer.is_error)
        return answer


def _kind(name: str) -> ToolKind:
    if _READS.search(name):
        return "read"
    return "execute" if _RUNS.match(name) else "other"
