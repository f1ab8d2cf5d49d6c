"""What a person adds to a run while it goes on."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from binnacle.project.project import Project
from binnacle.project.store_opening import open_store
from binnacle.sessions.run_sessions import own_session
from binnacle.store import notes, runs, tasks
from binnacle.store.transaction import Writer
from binnacle.work.actor import Actor
from binnacle.work.session import SessionRecord
from binnacle.work.task import NewTask


class RunAdditions(NamedTuple):
    """Adds to one run, in the name of the person who watches it."""

    project: Project
    run: str
    feature: str | None
    """What the run is about, as long as it has no session that says so."""

    by: Actor

    async def add_task(self, title: str) -> None:
        """Adds a task to what the run is about."""

        def add(tx: Writer, session: SessionRecord | None) -> None:
            feature = session.feature if session else self.feature
            added = tasks.add(tx, [NewTask(title=title, feature=feature)])
            if session is not None and session.run is not None:
                runs.select_more(tx, session.run, [task.id for task in added])

        await self._write(add)

    async def add_note(self, text: str) -> None:
        """Keeps a note for the iterations to come."""
        await self._write(lambda tx, _: notes.add(tx, [("tip", text)]))

    async def _write(self, change: Callable[[Writer, SessionRecord | None], object]) -> None:
        def work() -> None:
            with open_store(self.project) as store:
                with store.read() as tx:
                    session = own_session(tx, self.project, self.run)
                with store.write(by=self.by, session=session.id if session else None) as tx:
                    change(tx, session)

        await asyncio.to_thread(work)
