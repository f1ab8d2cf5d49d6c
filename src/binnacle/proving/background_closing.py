"""Lets a server answer a `done` although its checks take longer than a client waits for a call.

The call waits for a while and reports progress. Then it answers that the checks still run, and they go on here: when
they pass, the task is closed. The same call again waits again, for the same checks.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from binnacle.project.project import Project
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.task_text import move_reply
from binnacle.work.done_gate import DoneRequest

if TYPE_CHECKING:
    from binnacle.proving.task_closing import ClosedTask

Listener = Callable[[str], None]


class _RunningChecks:
    """The checks of one request, and who wants to hear of their progress."""

    def __init__(self) -> None:
        self.latest = "its checks begin"
        self.listeners: list[Listener] = []
        self.work: asyncio.Task[ClosedTask]

    def tell(self, name: str, what: str) -> None:
        self.latest = f"{name}: {what}"
        for listener in self.listeners:
            listener(self.latest)


class BackgroundClosing:
    """The requests for `done` that a server carries out. Closing it ends checks that still run."""

    def __init__(self, project: Project, access: StoreAccess, *, workspace: str, patience: float | None) -> None:
        """`workspace` is a folder in the working tree whose commits count.

        `patience` is how many seconds a call waits for checks; None for as long as they run.
        """
        self._project = project
        self._access = access
        self._patience = patience
        self._workspace = workspace
        self._running: dict[str, _RunningChecks] = {}

    async def answer(self, caller: Caller, request: DoneRequest) -> ToolReply:
        """What to answer a call that asks for `done`: that it is, what is missing, or that its checks still run.

        Raises:
            GitError: there is no commit to check.
            ConfigError: the file of checks is wrong.
        """
        running = self._running.get(request.task_id) or self._start(caller, request)
        steps = 0

        def report(words: str) -> None:
            nonlocal steps
            steps += 1
            caller.progress(steps, None, words)

        running.listeners.append(report)
        try:
            await asyncio.wait({running.work}, timeout=self._patience)
        finally:
            running.listeners.remove(report)
        if not running.work.done():
            return _describe_running(request, running)
        return _describe(request, running.work.result())

    def _start(self, caller: Caller, request: DoneRequest) -> _RunningChecks:
        running = self._running[request.task_id] = _RunningChecks()
        from binnacle.proving.proof_store import ServedStore
        from binnacle.proving.task_closing import DoneAsker, TaskCloser  # with all that runs checks

        max_attempts = int(self._project.settings.number("checks.attempts"))
        closer = TaskCloser(self._project, ServedStore(self._access), max_attempts=max_attempts)
        asker = DoneAsker(caller.actor, caller.session.id, self._workspace)
        running.work = asyncio.create_task(closer.close(request, asker, tell=running.tell))
        running.work.add_done_callback(lambda _: self._running.pop(request.task_id, None))
        return running

    async def aclose(self) -> None:
        works = [one.work for one in self._running.values()]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)


def _describe(request: DoneRequest, closed: "ClosedTask") -> ToolReply:
    reply = move_reply(closed.move, "Done:" if closed.is_done else "Not done:")
    if closed.is_done:
        return reply
    return reply._replace(
        data={**reply.data, "requested": request, "missing": closed.missing}, text=f"{reply.text}\n{closed.missing}"
    )


def _describe_running(request: DoneRequest, running: _RunningChecks) -> ToolReply:
    said = (
        f"requested: {request.task_id} is not done yet, its checks still run ({running.latest}). It is done when they "
        "pass, without another call. To see how they ended, make the same call again: it waits for them."
    )
    return ToolReply({"requested": request, "running": running.latest}, said)
