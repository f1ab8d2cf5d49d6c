"""The loop: plans, then iterates at every seat until the work is done or cannot go on, and says why it ended."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from binnacle.errors import AgentLimited, AgentLogin, AgentStart, BinnacleError, HookFailed
from binnacle.runner import events
from binnacle.runner.budget import exceeded
from binnacle.runner.desk import Seat
from binnacle.runner.iteration import Finished, iterate
from binnacle.runner.job import Job
from binnacle.runner.moments import run_hooks
from binnacle.runner.trees import Trees
from binnacle.runner.verdict import Ending, Standing, Verdict, judge

LOOK = 0.5
"""Seconds between looks at the tasks."""

BACKOFF = (1.0, 5.0)
"""Seconds before an agent that failed is started again; the last one for every further time."""

LIMIT_WAIT = 30.0
"""Seconds to wait for a provider that takes no more requests and does not say for how long; doubled every time."""

LONGEST_LIMIT_WAIT = 3600.0
LIMIT_TRIES = 12
"""Times in a row that a provider may refuse."""

INTERRUPTED = Verdict("interrupted", "the run was stopped", "go on with: bn run --resume")


class Run:
    """One run of agents over the work of a project. `run` is called once."""

    def __init__(self, job: Job, seats: Sequence[Seat], trees: Trees, *, home: str, goes_on: bool) -> None:
        """`home` is the folder that hooks of the run as a whole run in; `goes_on`, whether it was begun before."""
        self._job = job
        self._home = replace(seats[0], cwd=home)
        self._seats = seats
        self._trees = trees
        self._goes_on = goes_on
        self._ids = [seat.session for seat in seats]
        self._verdict: Verdict | None = None
        self._iterations = 0
        self._seen = 0
        self._busy = 0
        """Seats that are in an iteration."""

        self._looking = asyncio.Lock()
        self._begun = 0.0

    async def run(self) -> events.RunEnded:
        """Works until there is a reason to end."""
        job, first = self._job, self._seats[0]
        self._begun = time.monotonic()
        job.tell(
            events.RunStarted(
                session=first.session,
                name=job.options.name,
                agent=job.options.agent.name,
                recipe=job.options.recipe,
                goes_on=self._goes_on,
            )
        )
        self._seen = await job.ledger.last_change()
        watching = asyncio.create_task(self._watch())
        try:
            verdict = await self._decide()
        finally:
            async with self._looking:  # a hook that runs because a task is done runs to its end
                watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        return await self._end(verdict)

    async def _decide(self) -> Verdict:
        """Works; why it ended."""
        with self._ending_with(BinnacleError):
            await run_hooks(self._job, "session_start", self._home)
            if self._job.options.has_spec:
                await self._plan()
        if self._verdict is None:
            async with asyncio.TaskGroup() as group:
                for seat in self._seats:
                    group.create_task(self._sit(seat))
        assert self._verdict is not None, "every seat ends with a verdict"
        return self._verdict

    @contextmanager
    def _ending_with(self, kind: type[BinnacleError]) -> Iterator[None]:
        """An error of this kind is the end of the run; other seats finish the iteration they are in."""
        try:
            yield
        except kind as error:
            why: Ending = "hook_failed" if isinstance(error, HookFailed) else "error"
            self._verdict = self._verdict or Verdict(why, error.message, error.hint)

    async def _plan(self) -> None:
        """The first iteration, in which the tasks are made; again until it was finished once."""
        seat, failures = self._seats[0], 0
        while (stage := await self._job.ledger.planning(seat.session)) != "done":
            self._verdict = self._verdict or self._over() or judge(Standing(ready=1), failures=failures)
            if self._verdict is not None:
                return
            if stage == "elsewhere":
                await self._wait_for_others(seat, "the tasks are being planned on another machine")
            else:
                _, failures = await self._try(seat, failures, is_planning=True)

    async def _sit(self, seat: Seat) -> None:
        """Iterates at one seat until the run has its verdict."""
        with self._ending_with(BinnacleError):
            await self._iterate(seat)

    async def _iterate(self, seat: Seat) -> None:
        idle = failures = 0
        await self._keep_left(seat)
        while self._verdict is None:
            await self._job.control.wait_to_go_on()
            standing = await self._job.ledger.standing(self._ids)
            if verdict := self._over() or judge(standing, idle=idle, failures=failures):
                if verdict.why == "complete" and self._busy:
                    await self._job.control.sleep(LOOK)  # the work of another may be in conflict, which is a task
                    continue
                self._verdict = verdict
                return
            if not standing.ready and not await self._job.ledger.holds(seat.session):
                await self._wait_for_others(seat, "every task that is left waits for one in progress")
                continue
            before = await self._fingerprint(seat)
            with self._counted():
                finished, failures = await self._try(seat, failures)
                if finished is not None and not finished.is_broken_off:
                    self._iterations += 1
                    await self._trees.keep(self._job, seat, finished)
                    idle = 0 if await self._fingerprint(seat) != before else idle + 1

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """An iteration that is under way counts as made, so that several seats keep to the budget together."""
        self._busy += 1
        self._job.spent.iterations = self._iterations + self._busy
        try:
            yield
        finally:
            self._busy -= 1
            self._job.spent.iterations = self._iterations + self._busy

    async def _keep_left(self, seat: Seat) -> None:
        """Keeps what an iteration changed that ended just before its run was killed."""
        last = await self._job.ledger.last(seat.session)
        if last is None:
            await self._trees.keep_left(self._job, seat, None)
        elif last.ended_at is not None:
            done = Finished(last.number, last.summary, last.task_started or "", is_broken_off=False)
            await self._trees.keep_left(self._job, seat, done)

    def _over(self) -> Verdict | None:
        """Whether the run was stopped, or has used up its budget."""
        if self._job.control.is_stopped:
            return INTERRUPTED
        self._job.spent.seconds = time.monotonic() - self._begun
        return exceeded(self._job.options.budget, self._job.spent)

    async def _try(self, seat: Seat, failures: int, *, is_planning: bool = False) -> tuple[Finished | None, int]:
        """An iteration, if it comes to its end; and how many have failed in a row. Waits where the agent needs it."""
        limited = 0
        while True:
            try:
                if not is_planning:
                    await self._trees.refresh(self._job, seat)
                finished = await iterate(self._job, seat, is_planning=is_planning)
            except AgentLimited as error:
                limited += 1
                if limited > LIMIT_TRIES or self._over():
                    return None, failures + 1
                await self._wait_out(seat, error, limited)
            except HookFailed:
                raise
            except BinnacleError as error:
                return None, await self._failed(seat, error, failures)
            else:
                return finished, 0

    async def _failed(self, seat: Seat, error: BinnacleError, failures: int) -> int:
        """Tells of a failure and waits a while; how many there are now."""
        self._job.tell(events.Warned(worker=seat.number, message=error.message, hint=error.hint))
        await run_hooks(self._job, "on_error", seat, error=error.message)
        if isinstance(error, AgentStart | AgentLogin):
            self._verdict = Verdict("agent_failing", error.message, error.hint)
        elif not self._over():
            await self._job.control.sleep(BACKOFF[min(failures, len(BACKOFF) - 1)])
        return failures + 1

    async def _wait_out(self, seat: Seat, error: AgentLimited, times: int) -> None:
        wait = error.after or min(LIMIT_WAIT * 2 ** (times - 1), LONGEST_LIMIT_WAIT)
        self._job.tell(events.Waiting(worker=seat.number, why=error.message, seconds=wait))
        await self._job.control.sleep(wait)

    async def _wait_for_others(self, seat: Seat, why: str) -> None:
        """Waits until something changes: all that is left to do waits for what others do."""
        self._job.tell(events.Waiting(worker=seat.number, why=why))
        before = await self._job.ledger.last_change()
        while self._verdict is None and not self._over() and await self._job.ledger.last_change() == before:
            await self._job.control.sleep(LOOK)

    async def _fingerprint(self, seat: Seat) -> tuple[int, str]:
        """Changes when a task, a note or a file does."""
        return await self._job.ledger.last_change(), await self._trees.fingerprint(seat)

    async def _watch(self) -> None:
        """Tells how the tasks move, and runs what is to be run when one is done."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                async with self._looking:
                    with self._ending_with(HookFailed):
                        await self._look()
            except BinnacleError as error:  # the store may come back; if not, the iterations say so
                self._job.tell(events.Warned(message=error.message, hint=error.hint))

    async def _look(self) -> None:
        moved = await self._job.ledger.moves(self._seen)
        for seq, task in moved:
            self._seen = max(self._seen, seq)
            self._job.tell(events.TaskMoved(task=task.id, title=task.title, status=task.status))
            if task.status == "done":
                said = await run_hooks(
                    self._job, "on_task_complete", self._home, task_id=task.id, task_title=task.title
                )
                if said:
                    self._job.pending.append(said)
        if moved:
            standing = await self._job.ledger.standing(self._ids)
            self._job.tell(events.Progressed(closed=standing.closed, total=standing.closed + standing.left))

    async def _end(self, verdict: Verdict) -> events.RunEnded:
        """Leaves nothing held, and says how it ended."""
        ledger = self._job.ledger
        with self._ending_with(BinnacleError):
            await self._look()
        if verdict.why == "complete":
            await ledger.complete(self._ids, verdict.said)
        await ledger.release(self._ids, verdict.said)
        standing = await ledger.standing(self._ids)
        kept = await self._trees.close()
        ended = events.RunEnded(
            session=self._ids[0],
            name=self._job.options.name,
            why=verdict.why,
            said=verdict.said,
            hint=verdict.hint,
            iterations=self._iterations,
            closed=standing.closed_here,
            left=standing.left,
            seconds=round(time.monotonic() - self._begun, 1),
            tokens=self._job.spent.tokens,
            cost=self._job.spent.cost,
            kept=tuple(kept),
        )
        try:
            why = "" if verdict.why == "complete" else f"{verdict.why}: {verdict.said}"
            await run_hooks(self._job, "session_end", self._home, error=why)
        except HookFailed as error:
            self._job.tell(events.Warned(message=error.message, hint=error.hint))
        self._job.tell(ended)
        return ended
