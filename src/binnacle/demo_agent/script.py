"""What a turn does: plans from the specification, does one task, or answers a word in between."""

import os
from collections.abc import Awaitable, Callable

from binnacle.demo_agent.doing import Doing, Stuck
from binnacle.demo_agent.misbehaviour import Misbehaviour
from binnacle.demo_agent.spec import tasks_in
from binnacle.demo_agent.telling import Rejected, Telling
from binnacle.demo_agent.work import Refusal, Task, Work

TRIES = 5
"""Tasks that are tried when others take them first."""

STEPS = ("look for a task", "take it", "do it and run its tests", "report")


class Turn:
    """One prompt and what it is answered with."""

    def __init__(
        self,
        prompt: str,
        *,
        work: Work,
        doing: Doing,
        telling: Telling,
        misbehaviour: Misbehaviour,
        name: str,
        remember: Callable[[str], None],
    ) -> None:
        """`name` is who we are to the server, if that is known; `remember` is told when it is."""
        self._prompt = prompt
        self._work = work
        self._doing = doing
        self._telling = telling
        self._misbehaviour = misbehaviour
        self._name = os.environ.get("BN_MCP_SESSION") or name
        self._remember = remember
        self.has_summary = False

    async def begin(self) -> None:
        """The first turn of a session, or one that brings a whole prompt again."""
        await self._until_refused(self._plan if self._work.is_planning else self._iterate)

    async def reply(self, *, has_summary: bool) -> None:
        """A further turn: mends tests that were reported to fail, and makes up for a summary that is missing."""
        self.has_summary = has_summary
        try:
            mended = await self._doing.mend(self._prompt)
            await self._telling.say(mended or "Noted.")
        except (Stuck, Rejected) as error:
            await self._telling.say(f"That cannot be mended: {error}.")
        if not has_summary:
            await self._until_refused(lambda: self._summarise("The iteration ended without anything to add."))

    async def _until_refused(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Refusal as refusal:
            await self._telling.say(f"I was refused, so I stop here. {refusal.text}")

    async def _plan(self) -> None:
        items = tasks_in(self._prompt)
        await self._telling.think(f"The specification asks for {len(items)} tasks.")
        added = await self._work.add(items)
        self._misbehaviour.at_work()
        await self._telling.say(f"Planned {len(items)} tasks, {added} of them new.")
        titles = "; ".join(item.title for item in items)
        await self._summarise(f"Cut the specification into {len(items)} tasks as it lists them: {titles}.")

    async def _iterate(self) -> None:
        await self._telling.plan(STEPS, 0)
        there = await self._work.tasks()
        held = next(
            (one for one in there if one.status == "in_progress" and one.claimed_by and one.claimed_by == self._name),
            None,
        )
        if held is not None:
            held = await self._work.move(held, "in_progress")
            await self._telling.say(f"Going on with {held.id}: {held.title}")
        task = held or await self._take()
        if task is not None:
            await self._telling.plan(STEPS, 2)
            self._misbehaviour.at_work()
            await self._do(task)
        else:
            await self._summarise(_nothing(there))
        await self._telling.plan(STEPS, len(STEPS))
        if not await self._work.tasks():
            await self._work.complete("every task is done")
            await self._telling.say("Nothing is open any more; the session is complete.")

    async def _take(self) -> Task | None:
        """The next task, taken; None if none is ready."""
        for _ in range(TRIES):
            task = await self._work.next()
            if task is None:
                return None
            try:
                taken = await self._work.move(task, "in_progress")
            except Refusal as refusal:
                if refusal.code != "E_CLAIMED":
                    raise
            else:
                self._name = taken.claimed_by or self._name
                self._remember(self._name)
                await self._telling.say(f"Working on {taken.id}: {taken.title}")
                return taken
        return None

    async def _do(self, task: Task) -> None:
        if self._misbehaviour.asks_for("ask"):
            await self._work.note("stuck", f"{task.title}: which of the two ways do you want?")
            await self._work.move(task, "needs_input")
            await self._summarise(f"{task.title} waits for an answer: which of the two ways do you want?")
            return
        try:
            done = await self._doing.do(task.title, await self._description(task))
        except (Stuck, Rejected) as error:
            await self._telling.say(f"I cannot finish this: {error}.")
            await self._work.note("stuck", f"{task.title}: {error}")
            await self._work.move(task, "blocked", reason=str(error))
            await self._summarise(f"{task.title} is blocked: {error}.")
            return
        for learned in done.learned:
            await self._work.note("learning", learned)
        try:
            await self._doing.commit(f"{task.title}\n\n{done.summary}")
        except Rejected:
            await self._telling.say("What I changed is not committed: that was not allowed.")
        await self._work.move(task, "done")
        if self._misbehaviour.asks_for("second-task"):
            await self._grab_another()
        await self._summarise(f"{task.title}: {done.summary}.")

    async def _description(self, task: Task) -> str:
        """What a task says, from the server or else from the specification in the prompt."""
        if told := await self._work.description(task):
            return told
        title = task.title.casefold()
        return next((one.description for one in tasks_in(self._prompt) if one.title.casefold() == title), "")

    async def _grab_another(self) -> None:
        try:
            if await self._take() is not None:
                await self._telling.say("I started a second task, and nobody minded.")
        except Refusal as refusal:
            await self._telling.say(f"A second task was refused. {refusal.text}")

    async def _summarise(self, summary: str) -> None:
        if not self._misbehaviour.asks_for("never-summarise"):
            await self._work.summarise(summary)
            self.has_summary = True


def _nothing(there: list[Task]) -> str:
    waiting = ", ".join(f"{one.id} is {one.status.replace('_', ' ')}" for one in there[:10])
    return f"No task can be taken: {waiting}." if there else "Nothing is left to do."
