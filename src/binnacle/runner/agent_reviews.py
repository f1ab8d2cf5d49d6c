"""The reviews of a run that agents make: one reviewer after another, until most of them have decided.

A change is reviewed by one runner at a time, on whatever machine: who reviews it holds a lease, which lapses after a
kill, and which the same machine can take again at once. What reviewers have said is in the store, so that the next
runner starts only those who are missing. A review takes the place of a worker while it lasts, and each reviewer counts
as an iteration of the run.

When too many reviewers of a change have ended without a verdict, a person is asked to decide in their place.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from binnacle.errors import RemoteUnreachable
from binnacle.proving import review_opening
from binnacle.runner.attempt import BACKOFF_SECONDS
from binnacle.runner.end_rules import EndReason
from binnacle.runner.ports import Worker
from binnacle.runner.reviewer import Reviewer, ReviewerEnd
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.trees.run_trees import RunTrees
from binnacle.store import run_reviewers, tasks
from binnacle.store.run_reviewers import BegunReviewer
from binnacle.store.transaction import Writer
from binnacle.work.review import Review


class AgentReviews:
    """The reviews that agents of one run make here."""

    def __init__(
        self,
        context: RunContext,
        trees: RunTrees,
        home: Worker,
        *,
        find_stop: Callable[[], EndReason | None],
        on_session: Callable[[str], Awaitable[None]],
    ) -> None:
        """`home` is a worker of this machine. `find_stop` says why no reviewer may be started any more, `on_session`
        takes the session of each that is."""
        self._context = context
        self._trees = trees
        self._home = home
        self._find_stop = find_stop
        self._on_session = on_session
        self._under_way: set[str] = set()
        self._absent: set[str] = set()
        """Commits that are not on this machine, and could not be fetched."""

        self.iterations = 0
        """How many reviewers were started here."""

    async def end_others(self) -> None:
        """Ends the sessions of interrupted reviewers that nobody needs any more."""
        store, place = self._context.store, self._context.options.place
        await store.write(lambda tx: run_reviewers.end_others(tx, store.run, place=place))

    async def are_left(self) -> bool:
        """Whether a change waits for agents that can review it here, or do so on another machine."""
        return bool(await self._list_here())

    async def take_next(self) -> Review | None:
        """Takes the oldest change that waits for agents and that nobody reviews. It is to be given to `make`."""
        for review in await self._list_here():
            if review.id in self._under_way:
                continue
            if await self._context.store.take_lease(_lease_of(review), self._home.session):
                self._under_way.add(review.id)
                return review
        return None

    async def make(self, worker: Worker, review: Review) -> EndReason | None:
        """Lets agents review a change in the place of a worker. Returns why the run has to end, if it has to."""
        failures = 0
        try:
            async with self._context.store.keep_lease(_lease_of(review), self._home.session):
                while await self._is_waiting(review) and not self._find_stop():
                    await self._context.control.wait_to_go_on()
                    if (begun := await self._begin(review)) is None:
                        continue
                    ended = await self._let_judge(worker, review, begun)
                    if ended.end is not None or not ended.outcome:
                        return ended.end
                    if ended.outcome == "failed":
                        await self._context.control.sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
                        failures += 1
        except RunStopped:
            pass
        finally:
            self._under_way.discard(review.id)
        return None

    async def _list_here(self) -> list[Review]:
        """What waits for agents, and whose commit is here."""
        store = self._context.store
        found = await store.read(lambda tx: review_opening.list_for_agents(tx, store.run))
        return [one for one in found if await self._has_commit(one.commit_id)]

    async def _has_commit(self, commit: str) -> bool:
        if commit in self._absent:
            return False
        with suppress(RemoteUnreachable):
            if await self._trees.has_commit(commit):
                return True
            self._absent.add(commit)
        return False

    async def _is_waiting(self, review: Review) -> bool:
        found = await self._context.store.read(lambda tx: review_opening.read_attempt_review(tx, review.id))
        return found.waits_for_agents

    async def _begin(self, review: Review) -> BegunReviewer | None:
        """Begins a reviewer; asks a person instead if too many have failed."""
        store, place = self._context.store, self._context.options.place
        task = await store.read(lambda tx: tasks.get(tx, review.task_id))
        recipe = self._context.options.choose("review", task.discipline).recipe
        terms = self._context.services.terms(recipe, discipline=task.discipline, task=task.id)

        def begin(tx: Writer) -> BegunReviewer | None:
            if not review_opening.read_attempt_review(tx, review.id).waits_for_agents:
                return None
            begun = run_reviewers.begin(tx, review, terms, place=place)
            if begun is None:
                run_reviewers.hand_over(tx, review)
            return begun

        return await store.write(begin)

    async def _let_judge(self, worker: Worker, review: Review, begun: BegunReviewer) -> ReviewerEnd:
        """Runs one reviewer, which counts as an iteration from its start unless it is interrupted."""
        task = await self._context.store.read(lambda tx: tasks.get(tx, review.task_id))
        await self._on_session(begun.session)
        self.iterations += 1
        ended = await Reviewer(self._context, worker, task, review, begun).make()
        if not ended.outcome:
            self.iterations -= 1
        return ended


def _lease_of(review: Review) -> str:
    return f"review {review.id}"
