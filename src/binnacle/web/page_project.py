"""One project that the page shows: its store, and the person who acts."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from binnacle.project.project import Project
from binnacle.project.store_opening import open_store
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.caller import Caller
from binnacle.tools.work.access import StoreAccess
from binnacle.work.actor import Actor
from binnacle.work.session import Session

Result = TypeVar("Result")


class PageProject:
    """An open project. Closing it closes its store."""

    def __init__(self, project: Project, *, key: str, person: str, workspace: str, is_readonly: bool = False) -> None:
        """`key` names it in addresses, `person` is who acts, and `workspace` the folder where the page was started."""
        self.project = project
        self.key = key
        self.workspace = workspace
        self.is_readonly = is_readonly
        self.shared_upstreams: SharedUpstreams | None = None
        """The upstream servers of the sessions that this process serves, if it serves the project over MCP."""

        self.upstreams_loop: asyncio.AbstractEventLoop | None = None
        """The event loop that they belong to; None if it is the page's own."""

        self._session = Session(actor=Actor(person, "human"), repo=project.repo, cwd=workspace)
        # Always from a thread, as if the store were a server: reading thousands of tasks would hold up everything
        # else that the event loop serves.
        self.access = StoreAccess(
            lambda timeout, outage: open_store(project, workspace=workspace, timeout=timeout, outage=outage),
            patience=project.settings.number("store.timeout"),
            is_shared=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.access.close()

    @property
    def session(self) -> Session:
        """The person, and where they act."""
        return self._session

    @property
    def person(self) -> Actor:
        return self._session.actor

    async def with_upstreams(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result of `work`, which uses `shared_upstreams` and so runs in their event loop."""
        if self.upstreams_loop in (None, asyncio.get_running_loop()):
            return await work()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self.upstreams_loop))

    async def read(self, look: Callable[[Reader], Result]) -> Result:
        """The result of `look` in a transaction of its own."""
        return await self.access.run(Caller(session=self._session), look, writes=False)

    async def write(self, change: Callable[[Writer], Result]) -> Result:
        """The result of `change`, made by the person in a transaction of its own."""
        return await self.access.run(Caller(session=self._session), change, writes=True)
