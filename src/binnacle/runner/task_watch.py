"""Watches the work of a run while its workers iterate: changed tasks, and what waits for a person.

Both are reported, and their hooks run: `on_task_complete` and `on_attention`.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from binnacle.errors import BinnacleError, HookFailed
from binnacle.runner import run_events
from binnacle.runner.desktop_notification import notify_desktop
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.store import attention
from binnacle.work.run import Attention

POLL_SECONDS = 0.5
"""Seconds between two reads of the tasks."""


class TaskWatch:
    """Polls the tasks while the block runs. Leaving it waits for a running hook of a finished task."""

    def __init__(
        self,
        context: RunContext,
        home: Worker,
        session_ids: Sequence[str],
        *,
        on_hook_failed: Callable[[HookFailed], None],
    ) -> None:
        """`home` is where the hooks run; `on_hook_failed` is called when a required one fails."""
        self._context = context
        self._home = home
        self._session_ids = session_ids
        self._on_hook_failed = on_hook_failed
        self._last_seen = 0
        self._known_attention: set[str] = set()
        """The ids of what waits for a person and was reported, or waited when the run began."""

        self._lock = asyncio.Lock()
        self._polling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._last_seen = await self._context.store.last_change()
        self._known_attention = {one.id for one in await self._list_attention()}
        self._polling = asyncio.create_task(self._poll())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._polling is not None
        async with self._lock:
            self._polling.cancel()
        await asyncio.gather(self._polling, return_exceptions=True)

    async def report_changes(self) -> None:
        """Reports the tasks that changed since the last call.

        Raises:
            HookFailed: a required hook failed.
        """
        changed = await self._context.store.changed_tasks(self._last_seen)
        for seq, task in changed:
            self._last_seen = max(self._last_seen, seq)
            self._context.tell(run_events.TaskMoved(task=task.id, title=task.title, status=task.status))
            if task.status == "done":
                said = await self._context.run_hooks(
                    "on_task_complete", self._home, task_id=task.id, task_title=task.title
                )
                if said:
                    self._context.pending.append(said)
        if changed:
            counts = await self._context.store.count_tasks(self._session_ids)
            self._context.tell(run_events.TasksProgressed(closed=counts.closed, total=counts.closed + counts.left))

    async def report_attention(self) -> None:
        """Reports what waits for a person since the last call: to the view, the desktop and the hooks.

        Raises:
            HookFailed: a required hook failed.
        """
        for one in await self._list_attention():
            if one.id in self._known_attention:
                continue
            self._known_attention.add(one.id)
            worker = self._session_ids.index(one.session or self._session_ids[0]) + 1
            self._context.tell(
                run_events.AttentionOpened(
                    worker=worker, id=one.id, kind=one.kind, title=one.title, task=one.task_id or ""
                )
            )
            if self._context.options.notifies:
                await notify_desktop(
                    self._context.keeper, f"{self._context.options.name}: {one.kind}", one.title, cwd=self._home.cwd
                )
            title = await self._context.store.title_of(one.task_id) if one.task_id else ""
            await self._context.run_hooks(
                "on_attention", self._home, task_id=one.task_id or "", task_title=title, attention=one
            )

    async def _list_attention(self) -> list[Attention]:
        return await self._context.store.read(lambda tx: attention.list_open_of(tx, self._session_ids))

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                async with self._lock:
                    await self.report_changes()
                    await self.report_attention()
            except HookFailed as error:
                self._on_hook_failed(error)
            except BinnacleError as error:  # the store may come back; if not, the iterations fail
                self._context.tell(run_events.WarningReported(message=error.message, hint=error.hint))
