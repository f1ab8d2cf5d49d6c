"""What a person adds to a run while it goes on."""

import asyncio
from collections.abc import Callable
from typing import Any

from binnacle.app.run import RunRequest
from binnacle.cli.context import Context
from binnacle.project.store_opening import open_store
from binnacle.sessions.run_sessions import own_session
from binnacle.store import notes, tasks
from binnacle.store.transaction import Writer
from binnacle.work.task import NewTask


async def add_task(context: Context, wanted: RunRequest, title: str) -> None:
    """Adds a task to what the run is about."""
    await _write(context, wanted, lambda tx, feature: tasks.add(tx, [NewTask(title=title, feature=feature)]))


async def add_note(context: Context, wanted: RunRequest, text: str) -> None:
    """Keeps a note for the iterations to come."""
    await _write(context, wanted, lambda tx, _: notes.add(tx, [("tip", text)]))


async def _write(context: Context, wanted: RunRequest, change: Callable[[Writer, str | None], Any]) -> None:
    def work() -> None:
        with open_store(context.project) as store:
            with store.read() as tx:
                session = own_session(tx, context.project, wanted.name)
            with store.write(by=context.actor, session=session.id if session else None) as tx:
                change(tx, session.feature if session else wanted.feature)

    await asyncio.to_thread(work)
