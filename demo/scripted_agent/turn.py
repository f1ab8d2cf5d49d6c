"""What a turn does: plans from the specification, does one task, or answers a word in between."""

import os
from collections.abc import Awaitable, Callable, Sequence

from scripted_agent.client_reports import ClientReports, Rejected
from scripted_agent.spec import Item, tasks_in
from scripted_agent.task_execution import Stuck, TaskExecutor
from scripted_agent.work_tools import Refusal, Task, WorkTools

MAX_TAKE_TRIES = 5
"""Tasks that are tried when others take them first."""

INTERRUPTED = "was interrupted"
"""What a prompt says if another agent has begun the task."""

DO_NOT_COMMIT = "Do not commit"
"""What a prompt says if whoever runs the agent commits."""

NOT_DONE = "You called the task done"
"""What a prompt says if the task was called done, and the checks of the project say otherwise."""

STEPS = ("look for a task", "take it", "do it and run its tests", "report")


class Turn:
    """One prompt and what it is answered with. Tests have a subclass that misbehaves in the public steps."""

    def __init__(
        self,
        prompt: str,
        *,
        work: WorkTools,
        executor: TaskExecutor,
        reports: ClientReports,
        name: str,
        may_commit: bool,
        remember: Callable[[str], None],
    ) -> None:
        """`name` is who we are to the server, if that is known; `remember` is told when it is."""
        self._prompt = prompt
        self.work = work
        self._executor = executor
        self.reports = reports
        self._name = os.environ.get("BN_MCP_SESSION") or name
        self._may_commit = may_commit
        self._remember = remember
        self.has_summary = False

    async def begin(self) -> None:
        """The first turn of a session, or one that brings a whole prompt again."""
        await self._until_refused(self._plan if self.work.is_planning else self._iterate)

    async def reply(self, *, has_summary: bool) -> None:
        """A further turn: fixes tests that were reported to fail, and writes a summary that is missing."""
        self.has_summary = has_summary
        try:
            fixed = await self._executor.fix_tests(self._prompt)
            await self.reports.say(fixed or "Noted.")
        except (Stuck, Rejected) as error:
            await self.reports.say(f"I cannot fix that: {error}.")
        else:
            if fixed and NOT_DONE in self._prompt:
                await self._until_refused(lambda: self._finish_again(fixed))
        if not has_summary:
            await self._until_refused(lambda: self.summarise("The iteration ended without anything to add."))

    async def _finish_again(self, fixed: str) -> None:
        """Sets the task that was not done yet to done once more."""
        held = await self._find_held(await self.work.tasks())
        if held is not None:
            await self._commit(f"{held.title}: what its checks showed\n\n{fixed}")
            await self.finish(held)

    async def _until_refused(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Refusal as refusal:
            await self.reports.say(f"I was refused, so I stop here. {refusal.text}")

    async def _plan(self) -> None:
        items = tasks_in(self._prompt)
        await self.reports.think(f"The specification asks for {len(items)} tasks.")
        added = await self.add_tasks(items)
        await self.reports.say(f"Planned {len(items)} tasks, {added} of them new.")
        titles = "; ".join(item.title for item in items)
        await self.summarise(f"Cut the specification into {len(items)} tasks as it lists them: {titles}.")

    async def _iterate(self) -> None:
        await self.reports.plan(STEPS, 0)
        there = await self.work.tasks()
        held = await self._find_held(there)
        if held is not None:
            how = "Going on with" if INTERRUPTED in self._prompt else "Working on"
            await self.reports.say(f"{how} {held.id}: {held.title}")
        task = held or await self.take()
        if task is not None:
            await self.reports.plan(STEPS, 2)
            await self.do(task)
        else:
            await self.summarise(_nothing(there))
        await self.reports.plan(STEPS, len(STEPS))
        if not await self.work.tasks():
            await self.work.complete("every task is done")
            await self.reports.say("Nothing is open any more; the session is complete.")

    async def _find_held(self, there: Sequence[Task]) -> Task | None:
        """The task that we hold, with its claim renewed."""
        for one in there:
            if one.status == "in_progress" and one.claimed_by and one.claimed_by == self._name:
                return await self.work.move(one, "in_progress")
        return None

    async def take(self) -> Task | None:
        """The next task, taken; None if none is ready."""
        for _ in range(MAX_TAKE_TRIES):
            task = await self.work.next()
            if task is None:
                return None
            try:
                taken = await self.work.move(task, "in_progress")
            except Refusal as refusal:
                if refusal.code != "E_CLAIMED":
                    raise
            else:
                self._name = taken.claimed_by or self._name
                self._remember(self._name)
                await self.reports.say(f"Working on {taken.id}: {taken.title}")
                return taken
        return None

    async def add_tasks(self, items: Sequence[Item]) -> int:
        """Plans: adds the tasks of a specification that are not there yet; how many those are."""
        return await self.work.add(items)

    async def do(self, task: Task) -> None:
        """Does a task that was taken, or says why it cannot."""
        try:
            done = await self._executor.do(task.title, await self._description(task))
        except (Stuck, Rejected) as error:
            await self.reports.say(f"I cannot finish this: {error}.")
            await self.work.note("stuck", f"{task.title}: {error}")
            await self.work.move(task, "blocked", reason=str(error))
            await self.summarise(f"{task.title} is blocked: {error}.")
            return
        for learned in done.learned:
            await self.work.note("learning", learned)
        await self._commit(f"{task.title}\n\n{done.summary}")
        await self.finish(task)
        await self.summarise(f"{task.title}: {done.summary}.")

    async def _commit(self, message: str) -> None:
        if not self._may_commit:
            return
        try:
            await self._executor.commit(message)
        except Rejected:
            await self.reports.say("What I changed is not committed: that was not allowed.")

    async def finish(self, task: Task) -> None:
        """Sets a task to done."""
        await self.work.move(task, "done")

    async def _description(self, task: Task) -> str:
        """What a task says, from the server or else from the specification in the prompt."""
        if told := await self.work.description(task):
            return told
        title = task.title.casefold()
        return next((one.description for one in tasks_in(self._prompt) if one.title.casefold() == title), "")

    async def summarise(self, summary: str) -> None:
        """Writes the summary of the iteration."""
        await self.work.summarise(summary)
        self.has_summary = True


def _nothing(there: list[Task]) -> str:
    waiting = ", ".join(f"{one.id} is {one.status.replace('_', ' ')}" for one in there[:10])
    return f"No task can be taken: {waiting}." if there else "Nothing is left to do."
