"""The projects that the sessions of one server are in."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack

from binnacle.errors import Full, InvalidInput
from binnacle.project.project import Project, require_project
from binnacle.server.mcp_server import McpServer
from binnacle.serving.lazy_project import LazyProject
from binnacle.serving.refreshing import keep_fresh

MAX_PROJECTS = 32
"""Projects that the sessions of one server may be in at once."""


class OpenProjects:
    """The projects that the sessions of one server are in. Closing it closes those that it opened."""

    def __init__(self, home: LazyProject, make: Callable[[Project, AsyncExitStack], LazyProject]) -> None:
        """`home` is the project in which the server was started; its owner closes it.

        `make` prepares another project for serving, and pushes on the stack what must be closed with it.
        """
        self._make = make
        self._open = {home.repo: home}
        self._stack = AsyncExitStack()
        self._mcp_server: McpServer | None = None

    def announce_to(self, mcp_server: McpServer) -> None:
        """Sets the server whose clients are notified of changes. Must be called before a project is opened."""
        self._mcp_server = mcp_server

    async def open(self, path: str) -> LazyProject:
        """The project at a path, opened if necessary.

        Raises:
            NoProject: there is none.
            InvalidInput: it is not a folder, or the path is not absolute.
            Full: too many are open.
        """
        if not os.path.isabs(path) or not os.path.isdir(path):
            raise InvalidInput(f"not a directory: {path!r}", hint="give the absolute path of the repository")
        project = require_project(path)
        if project.repo not in self._open:
            if len(self._open) >= MAX_PROJECTS:
                raise Full(f"{MAX_PROJECTS} projects are open on this server", hint="start another server for it")
            assert self._mcp_server is not None
            made = self._make(project, self._stack)
            await self._stack.enter_async_context(keep_fresh(made, self._mcp_server))
            self._open[project.repo] = made
        return self._open[project.repo]

    async def aclose(self) -> None:
        await self._stack.aclose()
