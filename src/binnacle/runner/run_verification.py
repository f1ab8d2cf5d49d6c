"""Verifies what a run has closed, when nothing is left to do: a task whose check a later one broke is reopened.

Before each merge, the checks of the task that is merged run, and those of the project. So what is found here are checks
that only another task needs: one that it names, or one about files that later tasks did not touch. What is known of the
tree at the end of the run's branch is not run again, so a run that is resumed verifies only what has changed.
"""

from collections.abc import Sequence

from binnacle.runner import run_events
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.store import regressions
from binnacle.store.transaction import Writer
from binnacle.store.views import closed_work
from binnacle.work.evidence import PROVEN
from binnacle.work.regression import Regression, describe_culprit, group_by_task
from binnacle.work.verification import name_tests


class RunVerification:
    """The verification of one run's work."""

    def __init__(self, context: RunContext, worker: Worker) -> None:
        """`worker` is the one in whose name it is done; its folder is in the repository."""
        self._context = context
        self._worker = worker
        self._verified = ""
        """The commit at which everything was verified last."""

    async def reopen_broken(self, head: str) -> bool:
        """Verifies what the run has closed, at the commit with all of its work. Returns whether something is broken,
        so that there is work left, or a person has to look.

        Raises:
            RunStopped: the run was stopped, which ended the checks.
            GitError: there is no such commit.
            ConfigError: the file of checks is wrong.
        """
        if not head or head == self._verified:
            return False
        store = self._context.store
        closed = await store.read(lambda tx: closed_work.list_done_in_run(tx, store.run))
        proven = [one for one in closed if one.evidence_level in PROVEN]
        if not proven:
            return False
        found = await self._context.prover.verify(self._worker, proven, head)
        for several in group_by_task(found.regressions):
            await self._open(several)
        self._verified = head
        return bool(found.regressions)

    async def _open(self, several: Sequence[Regression]) -> None:
        """Opens a task for regressions that belong together."""
        store, times = self._context.store, self._context.options.max_attempts

        def reopen(tx: Writer) -> regressions.OpenedTask:
            return regressions.reopen(tx, several, feature=store.feature, max_times=times)

        opened = await store.write(reopen, session=self._worker.session)
        for one in several:
            culprit = one.search.culprit
            self._context.tell(
                run_events.RegressionFound(
                    worker=self._worker.number,
                    task=opened.task.id,
                    how=opened.how,
                    check=one.check,
                    tests=name_tests((*one.broken_tests.failed, *one.broken_tests.missing)),
                    commit=culprit.commit if culprit is not None else "",
                    broken_by=culprit.task if culprit is not None else "",
                    said=describe_culprit(one.search),
                )
            )
