"""Verifies closed tasks: runs the checks that they were closed with again, at one commit, and says what still holds.

Each check runs once, however many tasks were closed with it. What no longer holds is a regression: the commit that
broke it is looked for (`proving.regressions`). A check that only the project needs was broken for all tasks at once,
so it makes one regression, and not one for each task.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from binnacle.git.command import Git
from binnacle.proving.change_prover import ChangeProver
from binnacle.proving.commit_history import find_trees
from binnacle.proving.proof_store import ProofStore
from binnacle.proving.regressions import CulpritFinder
from binnacle.store.views import closed_work
from binnacle.store.views.closed_work import ClosedWork
from binnacle.work.evidence import PROVEN, Evidence
from binnacle.work.regression import CulpritSearch, Regression, make_regression
from binnacle.work.task import Task
from binnacle.work.verification import (
    HoldState,
    NeededCheck,
    VerifiedCheck,
    VerifiedTask,
    has_passed,
    judge_check,
    judge_task,
)

Tell = Callable[[tuple[int, int] | None, str], None]
"""Called with what happens, and how many of how many checks are done where that has changed."""

CheckKey = tuple[str, str]
"""The name of a check and its definition."""


class Verification(Struct, frozen=True, kw_only=True):
    """What holds of closed tasks at a commit."""

    commit: str
    tasks: tuple[VerifiedTask, ...] = ()
    regressions: tuple[Regression, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that was proven still is."""
        return all(one.state not in ("broken", "unclear") for one in self.tasks)


class ClosedWorkVerifier:
    """Verifies closed tasks of one project at commits of the repository in `folder`."""

    def __init__(
        self, prover: ChangeProver, store: ProofStore, folder: str, *, reuses: bool, tell: Tell | None = None
    ) -> None:
        """With `reuses`, what is known of the tree counts; otherwise each check runs again."""
        self._prover = prover
        self._store = store
        self._folder = folder
        self._reuses = reuses
        self._tell = tell or (lambda _done, _words: None)

    async def verify(self, wanted: Sequence[Task], commit: str, *, finds_culprits: bool = True) -> Verification:
        """Runs what these tasks were closed with at a commit, and looks for what broke it.

        Raises:
            GitError: there is no such commit.
            ConfigError: the file of checks is wrong.
        """
        proven = [one.id for one in wanted if one.status == "done" and one.evidence_level in PROVEN]
        commits = [one.evidence_commit for one in wanted if one.evidence_commit]
        trees = await find_trees(Git(self._folder), list(dict.fromkeys(commits)))
        found = await self._store.read(lambda tx: closed_work.read_closed_work(tx, proven, trees))
        results = await self._run(found, commit)
        works = {one.task.id: one for one in found}
        tasks = [self._judge(task, works.get(task.id), results) for task in wanted]
        if not finds_culprits:
            return Verification(commit=commit, tasks=tuple(tasks))
        regressions = await self._find_regressions(tasks, commit)
        return Verification(commit=commit, tasks=tuple(_settle(tasks, regressions)), regressions=tuple(regressions))

    async def _run(self, works: Sequence[ClosedWork], commit: str) -> dict[CheckKey, Evidence]:
        """The results of all checks that are needed."""
        named: dict[CheckKey, list[str]] = {}
        for work in works:
            if work.task.evidence_level == "waived":
                continue
            for needed in work.checks:
                if needed.definition:
                    named.setdefault((needed.name, needed.definition), []).extend(work.tests)
        results: dict[CheckKey, Evidence] = {}
        for number, ((name, definition), tests) in enumerate(named.items()):
            self._tell((number, len(named)), name)
            seen = await self._prover.see(
                name, definition, commit, folder=self._folder, named=tuple(dict.fromkeys(tests)), reuses=self._reuses
            )
            if seen is not None:
                results[name, definition] = seen
        return results

    def _judge(self, task: Task, work: ClosedWork | None, results: Mapping[CheckKey, Evidence]) -> VerifiedTask:
        level = task.evidence_level
        made = VerifiedTask(
            task_id=task.id,
            title=task.title,
            state="open",
            level=level,
            commit=task.evidence_commit,
            proven_at=task.evidence_at,
        )
        if task.status != "done":
            return made
        if work is None or level == "waived":
            return replace(made, state="waived" if level == "waived" else "said")
        tests = _attribute(work, results)
        checks = [
            judge_check(one, results.get((one.name, one.definition)), tests.get(one.name, ())) for one in work.checks
        ]
        return replace(made, state=judge_task(checks), checks=tuple(checks))

    async def _find_regressions(self, tasks: Sequence[VerifiedTask], commit: str) -> list[Regression]:
        """What is broken: of each task what it names itself, and of the project each check once."""
        own: list[Regression] = []
        shared: dict[str, list[tuple[VerifiedTask, VerifiedCheck]]] = {}
        for task in tasks:
            for check in task.checks:
                if not check.is_suspect:
                    continue
                if check.is_own:
                    search = await self._search(check, task.commit, commit)
                    own.append(make_regression(task.task_id, check, search, commit=commit))
                else:
                    shared.setdefault(check.name, []).append((task, check))
        certain = [one for one in own if one.is_certain]
        reopening = {one.check for one in certain}  # whoever fixes it there fixes it for all
        rest = [await self._make_shared(several, commit) for name, several in shared.items() if name not in reopening]
        return certain + [one for one in rest if one.is_certain]

    async def _make_shared(self, several: Sequence[tuple[VerifiedTask, VerifiedCheck]], commit: str) -> Regression:
        """The regression of a check that only the project needs, as the task that was closed last sees it."""
        newest, check = several[-1]
        search = await self._search(check, newest.commit, commit)
        regression = make_regression("", check, search, commit=commit)
        return replace(regression, tasks=tuple(task.task_id for task, _ in several))

    async def _search(self, check: VerifiedCheck, since: str, until: str) -> CulpritSearch:
        def announce(words: str) -> None:
            self._tell(None, words)

        return await CulpritFinder(self._prover, self._store, self._folder, check, announce=announce).find(
            since if check.then is not None else "", until
        )


def _attribute(work: ClosedWork, results: Mapping[CheckKey, Evidence]) -> dict[str, tuple[str, ...]]:
    """Which check has to show which test of the task's criteria: the one that showed it before, or shows it now."""
    found: dict[str, list[str]] = {}
    for test in work.tests:
        found.setdefault(_find_shower(test, work, results), []).append(test)
    return {name: tuple(tests) for name, tests in found.items()}


def _find_shower(test: str, work: ClosedWork, results: Mapping[CheckKey, Evidence]) -> str:
    def shows(one: NeededCheck) -> bool:
        now = results.get((one.name, one.definition))
        return now is not None and has_passed(test, now)

    before = [one for one in work.checks if one.then is not None and has_passed(test, one.then)]
    now = [one for one in work.checks if shows(one)]
    return next((one.name for one in (*before, *now, *work.checks)), "")


def _settle(tasks: Sequence[VerifiedTask], regressions: Sequence[Regression]) -> list[VerifiedTask]:
    """The tasks with what the search has shown: a check that could not run, and could before, is broken."""
    broken = {
        (task_id, one.check) for one in regressions if one.search.passed_before for task_id in (one.task_id, *one.tasks)
    }

    def settle(task: VerifiedTask, check: VerifiedCheck) -> VerifiedCheck:
        return replace(check, state="broken") if (task.task_id, check.name) in broken else check

    made = []
    for task in tasks:
        checks = tuple(settle(task, one) for one in task.checks)
        state: HoldState = judge_task(checks) if checks else task.state
        made.append(replace(task, checks=checks, state=state))
    return made
