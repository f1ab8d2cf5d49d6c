"""Running the checks of a task that a person called done, and what they say meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.store import done_requests, task_requirements, tasks
from binnacle.store.transaction import Reader
from binnacle.web.endpoints import acts, streams
from binnacle.web.page_project import PageProject
from binnacle.work.done_gate import DoneRequest
from binnacle.work.ids import TaskId
from binnacle.work.status import Status

CHECK_SECONDS = 4 * 3600.0
"""Seconds that the checks of a task may take at most. Each check has a limit of its own."""


class ProveTask(Struct, frozen=True, kw_only=True):
    """Runs the checks of a task that was called done."""

    id: str


class ProvenTask(Struct, frozen=True, kw_only=True):
    """What the checks of a task led to."""

    id: TaskId
    status: Status
    is_done: bool
    missing: str
    """Why it is not done."""

    unblocked: list[TaskId]


class CheckProgress(Struct, frozen=True, kw_only=True):
    """What the checks of a task do now."""

    text: str
    is_over: bool = False


@acts("prove_task", within=CHECK_SECONDS)
async def prove_task(project: PageProject, asked: ProveTask) -> ProvenTask:
    """Runs the checks of a task that was called done. They end when the page that asked goes away."""
    from binnacle.app.check_run import close_task
    from binnacle.proving.task_closing import DoneAsker

    request = await project.read(lambda tx: _find_request(tx, asked.id, project.person.name))
    progress = _progress_of(project, request.task_id)
    try:
        closed = await close_task(
            project.project,
            request,
            DoneAsker(project.person, None, project.workspace),
            tell=lambda name, what: progress.tell(f"{name}: {what}"),
        )
    finally:
        progress.tell("", is_over=True)
    return ProvenTask(
        id=closed.move.task.id,
        status=closed.move.task.status,
        is_done=closed.is_done,
        missing=closed.missing,
        unblocked=list(closed.move.unblocked),
    )


def _find_request(tx: Reader, text: str, person: str) -> DoneRequest:
    """What a person asked for when they called a task done.

    Raises:
        InvalidInput: nobody did.
    """
    task = tasks.get(tx, text)
    waiting = [one for one in done_requests.list_waiting(tx, task.id) if one.author == person]
    if not waiting:
        raise InvalidInput(f"nobody asked for {task.id} to be done", hint="move it to done; then its checks run")
    needs = task_requirements.find_requirements(tx, task, parts=tasks.list_parts(tx, task.id))
    return done_requests.make_request(waiting[-1].id, task, needs)


class CheckListeners:
    """What checks say of themselves, for every page that shows the task."""

    def __init__(self) -> None:
        self.latest: CheckProgress | None = None
        self._changed = asyncio.Event()

    def tell(self, text: str, *, is_over: bool = False) -> None:
        self.latest = CheckProgress(text=text, is_over=is_over)
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self) -> CheckProgress | None:
        await self._changed.wait()
        return self.latest


_PROGRESS: WeakKeyDictionary[PageProject, dict[TaskId, CheckListeners]] = WeakKeyDictionary()


def _progress_of(project: PageProject, task_id: TaskId) -> CheckListeners:
    return _PROGRESS.setdefault(project, {}).setdefault(task_id, CheckListeners())


@streams("task_checks")
async def watch_checks(project: PageProject, what: str) -> AsyncIterator[CheckProgress]:
    """What the checks of a task say, as they say it."""
    progress = _progress_of(project, await project.read(lambda tx: tasks.resolve(tx, what)))
    if progress.latest is not None and not progress.latest.is_over:
        yield progress.latest
    while True:
        if (latest := await progress.wait()) is not None:
            yield latest
