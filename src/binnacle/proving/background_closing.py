"""Lets a server answer a `done` although its checks take longer than a client waits for a call.

A client that takes tasks of the protocol gets one as soon as it is clear that checks have to run. Any other call waits
for a while and reports progress. Then it answers that the checks still run, and they go on here: when they pass, the
task is closed. The same call again waits again, for the same checks.

Checks belong to one commit. A call at another commit ends them and begins again. Cancelling the last call that waits
for them ends them, too: the task stays as it is, and the request in the store.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from binnacle.git.command import Git
from binnacle.project.project import Project
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.task_text import move_reply
from binnacle.work.done_gate import DoneRequest

if TYPE_CHECKING:
    from binnacle.proving.task_closing import ClosedTask

QUICK_SECONDS = 1.0
"""Seconds within which checks whose results are known have answered. Longer ones become a task of the protocol."""

Listener = Callable[[str], None]


class _RunningChecks:
    """The checks of one request, and who wants to hear of their progress."""

    def __init__(self, commit: str | None) -> None:
        self.commit = commit
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
        """By task: checks that run, and those that ended while no call waited for them."""

        self._works: set[asyncio.Task[ClosedTask]] = set()
        """Everything that is not over yet."""

    async def answer(self, caller: Caller, request: DoneRequest) -> ToolReply:
        """What to answer a call that asks for `done`: that it is, what is missing, or that its checks still run.

        Raises:
            GitError: there is no commit to check.
            ConfigError: the file of checks is wrong.
        """
        steps = 0

        def report(words: str) -> None:
            nonlocal steps
            steps += 1
            caller.progress(steps, None, words)

        while True:
            running = await self._find_or_start(caller, request)
            await self._wait(caller, running, report)
            if not running.work.done():
                return _describe_running(request, running)
            if not running.work.cancelled():  # otherwise another call has begun again, at another commit
                self._forget(request.task_id, running)
                return _describe(request, running.work.result())

    async def _find_or_start(self, caller: Caller, request: DoneRequest) -> _RunningChecks:
        commit = await Git(self._workspace).head()
        known = self._running.get(request.task_id)
        if known is not None and known.commit == commit:
            return known
        if known is not None:
            self._forget(request.task_id, known)
            known.work.cancel()
        return self._start(caller, request, commit)

    async def _wait(self, caller: Caller, running: _RunningChecks, report: Listener) -> None:
        """Waits until checks have ended, or as long as the client may wait. If cancelled, nobody waits any more."""
        running.listeners.append(report)
        patience = self._patience
        try:
            if caller.client is not None:
                await asyncio.wait({running.work}, timeout=QUICK_SECONDS)
                if not running.work.done() and caller.client.continue_as_task():
                    report(running.latest)
                    patience = None
            await asyncio.wait({running.work}, timeout=patience)
        except asyncio.CancelledError:
            if running.listeners == [report]:
                running.work.cancel()
                await asyncio.wait({running.work})
            raise
        finally:
            running.listeners.remove(report)

    def _start(self, caller: Caller, request: DoneRequest, commit: str | None) -> _RunningChecks:
        running = self._running[request.task_id] = _RunningChecks(commit)
        from binnacle.proving.proof_store import ServedStore
        from binnacle.proving.task_closing import DoneAsker, TaskCloser  # with all that runs checks

        max_attempts = int(self._project.settings.number("checks.attempts"))
        closer = TaskCloser(self._project, ServedStore(self._access), max_attempts=max_attempts)
        asker = DoneAsker(caller.actor, caller.session.id, self._workspace)
        running.work = asyncio.create_task(closer.close(request, asker, tell=running.tell))
        self._works.add(running.work)
        running.work.add_done_callback(lambda work: self._end(request.task_id, running, work))
        return running

    def _end(self, task_id: str, running: _RunningChecks, work: "asyncio.Task[ClosedTask]") -> None:
        """Keeps what was refused while no call waited for it; the next call then has its answer."""
        self._works.discard(work)
        if work.cancelled() or work.exception() is not None or work.result().is_done:
            self._forget(task_id, running)

    def _forget(self, task_id: str, running: _RunningChecks) -> None:
        if self._running.get(task_id) is running:
            del self._running[task_id]

    async def aclose(self) -> None:
        works = list(self._works)
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
