"""Builds the MCP server of a project.

A client starts its server and at once asks what tools it has. The answer is the same every time,
so it is kept; what executes the tools is loaded only when the first one is called, or when the
server has nothing else to do.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from binnacle.app import Project
from binnacle.app.listing import kept_listing
from binnacle.server.catalog_host import CatalogHost, Prompt, Resource
from binnacle.server.engine import Engine
from binnacle.tools.caller import Caller
from binnacle.work.actor import Actor

if TYPE_CHECKING:
    from binnacle.app.toolbox import Toolbox
    from binnacle.tools.outcome import Outcome

IDLE = 0.3
"""Seconds after the list was asked for, when the tools are loaded ahead of their first call."""


class LazyTools:
    """The tools of a project, loaded when needed."""

    def __init__(self, project: Project, *, timeout: float) -> None:
        self._project = project
        self._timeout = timeout
        self._box: Toolbox | None = None

    def listing(self) -> bytes:
        """The tools as `tools/list` shows them, a JSON array."""
        asyncio.get_running_loop().call_later(IDLE, self.box)
        return kept_listing(lambda: self.box().dispatcher.enabled())  # noqa: PLW0108 - opening the box is what is put off

    async def call(self, name: str, raw: bytes, caller: Caller) -> "Outcome":
        """Calls one tool."""
        return await self.box().dispatcher.call(name, raw, caller)

    def box(self) -> "Toolbox":
        """What executes the tools."""
        if self._box is None:
            from binnacle.app.toolbox import Toolbox

            self._box = Toolbox(self._project, timeout=self._timeout)
        return self._box

    async def aclose(self) -> None:
        if self._box is not None:
            await self._box.aclose()


@asynccontextmanager
async def open_engine(
    project: Project, *, prompts: Callable[[], Iterable[Prompt]], timeout: float
) -> AsyncGenerator[Engine]:
    """The MCP server of a project. Leaving it ends every process it started and closes the store."""
    tools = LazyTools(project, timeout=timeout)
    try:
        yield Engine(CatalogHost(tools, actor=_actor(), resources=_resources(project, tools), prompts=prompts))
    finally:
        await tools.aclose()


def _actor() -> Callable[[Mapping[str, Any]], Actor]:
    """Clients act as the agent that started the server, or each under a name of its own."""
    known = os.environ.get("BN_AGENT_ID", "").strip()
    return lambda _: Actor(known or f"mcp-{os.urandom(3).hex()}", "agent")


def _resources(project: Project, tools: LazyTools) -> tuple[Resource, ...]:
    async def status(caller: Caller) -> str:
        return await tools.box().status(caller)

    async def guide(_: Caller) -> str | None:
        try:
            with open(os.path.join(project.repo, "AGENTS.md"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    return (
        Resource("binnacle://status", "status", "Task counts, ready tasks and the queue", "application/json", status),
        Resource("binnacle://agents", "agents", "AGENTS.md of the repository, if there is one", "text/markdown", guide),
    )
