"""Keeps what clients see of a served project up to date.

One task per served project checks for changes once a second, and at once when an upstream server changes. It checks in
this order: the configured upstream servers, the store, the recipe, the list of tools. Each is compared with what the
clients were last notified of, so clients are notified of a change once.

Only this task refreshes the plan, so two refreshes never run at the same time. A call that runs meanwhile keeps the
dispatcher that it began with. If a plan cannot be made, the session keeps its tools, and the log says why, once.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from binnacle.errors import BinnacleError
from binnacle.server.mcp_server import Changed, McpServer
from binnacle.server.upstream_content import ForeignContent, NoForeignContent
from binnacle.serving.lazy_project import LazyProject

if TYPE_CHECKING:
    from binnacle.serving.toolbox import SessionToolbox

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Seconds between two checks whether the plan or the store has changed."""

SETTLE_SECONDS = 0.05
"""Several servers that connect within this time are announced as one change."""

STATUS_URI = "binnacle://status"


class ProjectRefresher:
    """Refreshes one served project and announces changes to the clients of one MCP server."""

    def __init__(self, project: LazyProject, mcp_server: McpServer) -> None:
        self._project = project
        self._mcp_server = mcp_server
        self._announced = _snapshot(NoForeignContent())
        """What upstream servers had besides tools when the clients were last notified."""

    async def run(self) -> None:
        """Checks for changes until it is cancelled."""
        reported = ""
        while True:
            await self._wait()
            box = self._project.loaded_box
            if box is None:
                continue
            try:
                await self._refresh(box)
                reported = ""
            except BinnacleError as error:
                if error.message != reported:
                    _log.warning("the plan cannot be made again: %s", error.message)
                reported = error.message
            if self._project.take_changed_list():
                self._mcp_server.changed("tools")
            self._announce_content()
            await self._project.foreign_content().follow(self._mcp_server.subscriptions())

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._project.upstreams_changed.wait()
            await asyncio.sleep(SETTLE_SECONDS)

    async def _refresh(self, box: "SessionToolbox") -> None:
        project = self._project
        state = project.upstreams.state()
        if state != project.upstreams_seen or box.has_other_upstreams:
            project.upstreams_seen = state
            await box.reload_upstreams()
            project.warn_of_problems()
            project.upstreams_changed.set()
        is_store_changed = await box.has_store_changed()
        if is_store_changed or project.upstreams_changed.is_set():
            self._mcp_server.updated(STATUS_URI)
        project.refresh(is_store_changed=is_store_changed)

    def _announce_content(self) -> None:
        before, self._announced = self._announced, _snapshot(self._project.foreign_content())
        for kind, now in self._announced.items():
            if now != before[kind]:
                self._mcp_server.changed(kind)


def _snapshot(content: ForeignContent) -> dict[Changed, tuple[Mapping[str, Any], ...]]:
    return {"prompts": (content.prompts(),), "resources": (content.resources(), content.templates())}


@asynccontextmanager
async def keep_fresh(project: LazyProject, mcp_server: McpServer) -> AsyncGenerator[None]:
    """Announces changes in a project. Leaving the block ends the project's processes and closes its store."""
    project.updated = mcp_server.updated
    refreshing = asyncio.get_running_loop().create_task(ProjectRefresher(project, mcp_server).run())
    try:
        yield
    finally:
        refreshing.cancel()
        await asyncio.gather(refreshing, return_exceptions=True)
        await project.aclose()
