"""Finds the commit that broke a check: bisects the history between the commit on which it passed and where it fails.

The first-parent history is bisected (`work.bisection`): in a run, each of its commits is what one task brought in. If
the commit found is a merge whose other side has the break as well, that side is bisected, too. What is known of a tree
is not run again. The number of runs is bounded.
"""

from collections.abc import Callable, Sequence

from binnacle.errors import BinnacleError
from binnacle.git.command import Git
from binnacle.proving.change_prover import ChangeProver
from binnacle.proving.commit_history import HistoryCommit, contains, list_first_parents, read_words
from binnacle.proving.proof_store import ProofStore
from binnacle.store import evidence
from binnacle.store.views import closed_work
from binnacle.work.bisection import Bisection, ProbeResult
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence
from binnacle.work.regression import Culprit, CulpritSearch
from binnacle.work.verification import VerifiedCheck, judge_probe

MAX_PROBES = 24
"""Runs of a check to find one commit: enough for 65 000 commits and some that cannot be judged."""

ANOTHER_RULE = "it does not pass on the commit with which the task was closed, either: {why}"
NOT_IN_HISTORY = "the commit with which the task was closed, {commit}, is not in the history of {until}"

Announce = Callable[[str], None]


class CulpritFinder:
    """The search for what broke one check. `find` is called once."""

    def __init__(
        self, prover: ChangeProver, store: ProofStore, folder: str, target: VerifiedCheck, *, announce: Announce
    ) -> None:
        """`announce` is called with what is looked at."""
        assert target.now is not None, "only what was run can be looked for"
        self._prover = prover
        self._store = store
        self._git = Git(folder)
        self._target = target
        self._now = target.now
        self._announce = announce
        self._probes = 0

    async def find(self, since: str, until: str) -> CulpritSearch:
        """The commit after `since`, on which the check passed, that broke it at `until`."""
        if not since:
            return CulpritSearch(why_not="no result is on record with which the task was closed")
        commits: Sequence[HistoryCommit] = await list_first_parents(self._git, since=since, until=until)
        start = await self._find_known_good(commits, since, until)
        if start is None:
            short = [one[:SHORT_COMMIT_CHARACTERS] for one in (since, until)]
            return CulpritSearch(why_not=NOT_IN_HISTORY.format(commit=short[0], until=short[1]))
        good, commits = start
        first = await self._look(good)
        if first is None or judge_probe(first, self._target) != "good":
            return self._end(len(commits), why_not=ANOTHER_RULE.format(why=self._describe_good_end(first)))
        if not commits:
            return self._end(0, why_not="it passed on the same commit before", passed_before=True)
        suspects = await self._bisect(commits)
        if suspects is None:
            return self._end(len(commits), why_not=f"after {self._probes} runs it was not found", passed_before=True)
        if len(suspects) == 1:
            suspects = [await self._follow_merge(suspects[0], since)]
        culprit = await self._describe(suspects)
        return CulpritSearch(culprit=culprit, commits=len(commits), probes=self._probes, passed_before=True)

    async def _find_known_good(
        self, commits: Sequence[HistoryCommit], since: str, until: str
    ) -> tuple[str, Sequence[HistoryCommit]] | None:
        """The newest commit that is known to pass, and the commits after it; None if nothing can be bisected."""
        if not commits and since != until:
            history = await self._git.run("log", "--first-parent", "--format=%H %T %P", "--max-count=1000", until)
            lines = (line.split() for line in history.line.splitlines())
            commits = [HistoryCommit(one[0], one[1], tuple(one[2:])) for one in lines if len(one) > 1][::-1]
            since = ""
        trees = {one.tree for one in commits[:-1]}
        found = await self._store.read(
            lambda tx: evidence.find_passing_trees(
                tx, definition=self._now.definition, environment=self._now.environment, trees=trees
            )
        )
        for place in range(len(commits) - 2, -1, -1):
            if commits[place].tree in found and await self._is_good(commits[place].id):
                return commits[place].id, commits[place + 1 :]
        return (since, commits) if since else None

    async def _is_good(self, commit: str) -> bool:
        seen = await self._look(commit)
        return seen is not None and judge_probe(seen, self._target) == "good"

    async def _bisect(self, commits: Sequence[HistoryCommit]) -> list[HistoryCommit] | None:
        """The first bad one of the commits, or those of which one is; None if it took too many runs."""
        search = Bisection(bad=len(commits) - 1)
        while (place := search.probe) is not None:
            if self._probes >= MAX_PROBES:
                return None
            search = search.narrow(place, await self._judge(commits[place].id))
        return [commits[place] for place in search.suspects]

    async def _judge(self, commit: str) -> ProbeResult:
        seen = await self._look(commit)
        return "unclear" if seen is None else judge_probe(seen, self._target)

    async def _follow_merge(self, merge: HistoryCommit, since: str) -> HistoryCommit:
        """The commit on the other side of a merge that broke it, if that side has it already; else the merge."""
        for side in merge.parents[1:]:
            if self._probes >= MAX_PROBES or side == since or not await contains(self._git, side, since):
                continue
            if await self._judge(side) == "bad":
                commits = await list_first_parents(self._git, since=since, until=side)
                suspects = await self._bisect(commits)
                if suspects is not None and len(suspects) == 1:
                    return await self._follow_merge(suspects[0], since)
        return merge

    async def _look(self, commit: str) -> Evidence | None:
        """What the check says about a commit; None if it cannot be run there."""
        before = self._now
        self._announce(f"looking for the commit that broke {before.check_name}: {commit[:SHORT_COMMIT_CHARACTERS]}")
        named = self._target.broken_tests.missing
        runs: list[str] = []
        try:
            return await self._prover.see(
                before.check_name, before.definition, commit, folder=self._git.folder, named=named, on_run=runs.append
            )
        except BinnacleError:  # a commit that cannot be checked out says nothing
            return None
        finally:
            self._probes += len(runs)

    def _describe_good_end(self, seen: Evidence | None) -> str:
        if self._target.stale:
            return "; ".join(self._target.stale)
        return (seen.reason if seen is not None else "") or "what it depends on has changed outside of the repository"

    def _end(self, commits: int, *, why_not: str, passed_before: bool = False) -> CulpritSearch:
        return CulpritSearch(why_not=why_not, commits=commits, probes=self._probes, passed_before=passed_before)

    async def _describe(self, suspects: Sequence[HistoryCommit]) -> Culprit:
        last = suspects[-1]
        words = await read_words(self._git, last)
        task_id, title = await self._store.read(
            lambda tx: closed_work.find_task_of_commits(tx, words.commits, words.tasks)
        )
        return Culprit(
            commit=last.id,
            title=words.title,
            author=words.author,
            task=task_id,
            task_title=title,
            suspects=tuple(one.id for one in suspects) if len(suspects) > 1 else (),
        )
