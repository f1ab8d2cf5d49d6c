"""Runs checks on changes and keeps the results as evidence.

A result is reused as long as nothing that decides it has changed: the tree, the base, the definition and the
environment. A failure counts on the same tree as well, because a second run buys a label and not a pass; what could not
run, or took too long, is run again.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from binnacle.checks.baselines import BaselineFiles
from binnacle.checks.change_files import list_changes, read_changes
from binnacle.checks.check_environment import describe_environment
from binnacle.checks.check_runner import CheckRunner, Tell
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.project.check_file import CHECK_FILE
from binnacle.project.project import Project
from binnacle.proving.check_definitions import CheckDefinitions, choose_checks, find_definitions, is_as_trusted
from binnacle.proving.proof_store import ProofStore
from binnacle.proving.remark_judging import judge_remarks
from binnacle.proving.work_range import WorkRange, find_tree
from binnacle.store import evidence, quarantine, task_requirements, tasks
from binnacle.store.transaction import Reader
from binnacle.work.check import Check, CheckTier
from binnacle.work.check_result import CheckResult
from binnacle.work.done_gate import (
    MAX_DOUBTS,
    DoneProof,
    Gap,
    RequiredCheck,
    TaskRequirements,
    find_gaps,
    find_review_need,
    is_concerned,
    is_same_test,
)
from binnacle.work.evidence import MAX_KEPT_IDS, Evidence
from binnacle.work.gaming import (
    ChangeFinding,
    PolicyDecision,
    decide_policy,
    describe_finding,
    measure_change,
    sort_findings,
)
from binnacle.work.ids import TaskId
from binnacle.work.review_policy import ReviewNeed, find_untouched
from binnacle.work.task import Task

CHECKS_FOLDER = "checks"
"""Folder in the data directory of a project, for checkouts, logs and baselines."""

REUSABLE = ("pass", "fail", "flaky")
FAST: tuple[CheckTier, ...] = ("fast",)


class EvidenceOrigin(Struct, frozen=True, kw_only=True):
    """For whom checks run."""

    asked_by: str
    run: str | None = None
    session: str | None = None


class CheckedChange(Struct, frozen=True, kw_only=True):
    """What checks said about a change, and what the change does to what judges it."""

    range: WorkRange
    tree: str
    base_tree: str
    definitions: CheckDefinitions
    paths: tuple[str, ...] = ()
    """The files that it changes."""

    findings: tuple[ChangeFinding, ...] = ()
    decision: PolicyDecision = "allow"
    results: tuple[Evidence, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether every check passed and no person has to decide anything."""
        passes = all(one.verdict == "pass" and one.decision == "allow" for one in self.results)
        return self.decision == "allow" and bool(self.results) and passes


class TaskProof(Struct, frozen=True, kw_only=True):
    """What was seen of the work on a task, and what is missing before it is done."""

    task: Task
    proof: DoneProof
    gaps: tuple[Gap, ...] = ()
    review: ReviewNeed = ReviewNeed()
    """Who has to accept the change, whether or not they have."""

    change: CheckedChange

    @property
    def is_proven(self) -> bool:
        return not self.gaps

    @property
    def waits_for_person(self) -> bool:
        """Whether nothing is missing but a person's decision."""
        return bool(self.gaps) and all(one.is_for_person for one in self.gaps)

    @property
    def waits_for_review(self) -> bool:
        """Whether nothing is missing but that somebody accepts the change."""
        return bool(self.gaps) and all(one.is_for_review for one in self.gaps)


class ChangeProver:
    """Runs the checks of one project. The keeper owns every process that it starts."""

    def __init__(
        self,
        project: Project,
        store: ProofStore,
        keeper: Keeper,
        *,
        origin: EvidenceOrigin,
        tell: Tell | None = None,
        on_result: Callable[[Evidence], None] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`tell` is called with the name of a check and what happens in it, `on_result` with what a run of one gave.

        `environ` is what checks get a part of; that of this process when left out.
        """
        self._project = project
        self._store = store
        self._keeper = keeper
        self._origin = origin
        self._tell = tell
        self._on_result = on_result
        self._environ = os.environ if environ is None else environ

    async def check(
        self,
        change: WorkRange,
        names: Sequence[str] = (),
        *,
        is_bug: bool = False,
        on_result: Callable[[Evidence], None] | None = None,
    ) -> CheckedChange:
        """Runs the named checks, or all that are trusted, on a change. Nothing is reused.

        Raises:
            NotFound: there is no check of that name.
            Refused: nobody has trusted it.
            ConfigError: the file of checks is wrong.
        """
        opened = await self._open(change)
        results: list[Evidence] = []
        for check in choose_checks(self._project.repo, opened.definitions.file, names):
            result = await self._run(check, opened, is_bug=is_bug)
            results.append(result)
            if on_result is not None:
                on_result(result)
        return replace(opened, results=tuple(results))

    async def prove(
        self,
        task_id: str,
        change: WorkRange,
        *,
        tiers: Collection[CheckTier] = FAST,
        is_merged: bool = False,
        change_tree: str = "",
        is_by_person: bool = False,
    ) -> TaskProof:
        """Runs the checks that a task needs, and those of the project in `tiers`, as far as nothing is known of them.

        `change_tree` is the tree of the change as it was reviewed, if `change` is what Binnacle made by merging it.
        `is_by_person` if a person wants to close it, who need not have noted where the work began.

        Raises:
            NotFound: the task is gone.
            ConfigError: the file of checks is wrong.
        """
        task, needs = await self._store.read(lambda tx: _read_needs(tx, task_id))
        opened = await self._open(change)
        needs = _with_tiers(needs, tiers)
        unconcerned = tuple(
            one.name for one in needs.checks if one.may_be_unconcerned and not self._concerns(one, opened)
        )
        results: list[Evidence] = []
        if not (needs.needs_change and change.is_empty):
            for required in needs.checks:
                check = opened.definitions.find(required.name, required.definition)
                if check is not None and required.name not in unconcerned:
                    results.append(await self._reuse_or_run(check, opened, task, is_merged=is_merged, needs=needs))
        proof = DoneProof(
            commit_id=change.commit,
            tree=opened.tree,
            base=change.base,
            base_tree=opened.base_tree,
            evidence=tuple(one.id for one in results),
            unconcerned=unconcerned,
            untouched=find_untouched(needs.reviews, opened.paths) if change.base else (),
            decision=opened.decision,
            doubts=tuple(map(describe_finding, opened.findings[:MAX_DOUBTS])) if opened.decision != "allow" else (),
            is_merged=is_merged,
            change_tree=change_tree,
        )
        if not is_merged:
            git = Git(change.folder)
            await judge_remarks(git, self._store, task.id, change.commit, is_by_attempt=not change.is_empty)
        failures = await self._store.read(lambda tx: evidence.list_failures(tx, proof.tree))
        acceptance = await self._store.read(lambda tx: task_requirements.find_acceptance(tx, task.id, needs, proof))
        gaps = find_gaps(needs, proof, results, failures=failures, acceptance=acceptance, is_by_person=is_by_person)
        return TaskProof(
            task=task,
            proof=proof,
            gaps=tuple(gaps),
            review=find_review_need(needs, proof, results),
            change=replace(opened, results=tuple(results)),
        )

    async def see(
        self,
        name: str,
        definition: str,
        commit: str,
        *,
        folder: str,
        named: Sequence[str] = (),
        reuses: bool = True,
        on_run: Callable[[str], None] | None = None,
    ) -> Evidence | None:
        """What a check, exactly as a person trusted it, says about a commit by itself, compared with nothing.

        None if there is no such definition. With `reuses`, what is known of the commit's tree counts; `on_run` is
        called if it does not suffice. `named` are tests whose result must be known.

        Raises:
            GitError: there is no such commit.
        """
        git = Git(folder)
        definitions = await find_definitions(git, self._project.repo, "")
        check = definitions.find(name, definition)
        if check is None:
            return None
        tree = await find_tree(git, commit)
        if reuses:
            environment = await self._find_environment(check)
            known = await self._store.read(
                lambda tx: evidence.find_of_tree(tx, tree=tree, definition=definition, environment=environment)
            )
            if known is not None and _tells_of(known, named):
                return known
        if on_run is not None:
            on_run(commit)
        change = WorkRange(folder, commit, commit)
        opened = CheckedChange(range=change, tree=tree, base_tree=tree, definitions=definitions)
        return await self._run(check, opened, named=named)

    async def _open(self, change: WorkRange) -> CheckedChange:
        git = Git(change.folder)
        definitions = await find_definitions(git, self._project.repo, change.base)
        is_known = bool(change.base) and not change.is_empty
        findings = measure_change(await read_changes(git, change.base, change.commit) if is_known else [])
        if any(map(_is_of_checks, findings)) and await is_as_trusted(git, self._project.repo, change.commit):
            findings = [one for one in findings if not _is_of_checks(one)]
        paths = [one.path for one in await list_changes(git, change.base, change.commit)] if is_known else []
        return CheckedChange(
            range=change,
            tree=await find_tree(git, change.commit),
            base_tree=await find_tree(git, change.base),
            definitions=definitions,
            paths=tuple(paths),
            findings=tuple(findings),
            decision=decide_policy(findings, definitions.protection),
        )

    def _concerns(self, required: RequiredCheck, opened: CheckedChange) -> bool:
        check = opened.definitions.find(required.name, required.definition)
        return check is None or not opened.range.base or is_concerned(check.paths, opened.paths)

    async def _reuse_or_run(
        self, check: Check, opened: CheckedChange, task: Task, *, is_merged: bool, needs: TaskRequirements
    ) -> Evidence:
        is_bug = task.kind == "bug"
        environment = await self._find_environment(check)

        def look(tx: Reader) -> Evidence | None:
            known = evidence.find(
                tx, tree=opened.tree, base=opened.range.base, is_bug=is_bug,
                definition=check.definition_hash, environment=environment,
            )  # fmt: skip
            spared = quarantine.list_active(tx, check.name)
            # A test may have been put into quarantine since it failed.
            return None if known is not None and known.verdict != "pass" and spared else known

        known = await self._store.read(look)
        if known is not None and known.verdict in REUSABLE and _is_decided_as_now(known, opened):
            return known
        return await self._run(check, opened, is_bug=is_bug, task=task, is_merged=is_merged, named=needs.tests)

    async def _run(
        self,
        check: Check,
        opened: CheckedChange,
        *,
        is_bug: bool = False,
        task: Task | None = None,
        is_merged: bool = False,
        named: Sequence[str] = (),
    ) -> Evidence:
        place = os.path.join(self._project.data_dir, CHECKS_FOLDER)
        runner = CheckRunner(
            repo=opened.range.folder,
            folder=place,
            keeper=self._keeper,
            environ=self._environ,
            baselines=BaselineFiles(os.path.join(place, "baselines")),
            protection=opened.definitions.protection,
            tell=self._tell,
        )
        spared = await self._store.read(lambda tx: quarantine.list_active(tx, check.name))
        base = "" if opened.range.is_empty else opened.range.base
        result = await runner.run(
            check, opened.range.commit, base, is_bug=is_bug, quarantined=[one.test_id for one in spared]
        )
        made = _make_evidence(
            result, opened, self._origin, tier=check.tier, task_id=task.id if task else None, is_merged=is_merged,
            is_bug=is_bug, named=named,
        )  # fmt: skip
        kept = await self._store.write(lambda tx: evidence.add(tx, made))
        if self._on_result is not None:
            self._on_result(kept)
        return kept

    async def _find_environment(self, check: Check) -> str:
        """The hash of what a check runs in here."""
        programs = [*check.needs, check.words[0], *check.setup[:1]]
        return (await asyncio.to_thread(describe_environment, self._environ, programs)).hash


def _is_decided_as_now(known: Evidence, opened: CheckedChange) -> bool:
    """Whether what a person trusts now, checks and policy, says the same about the findings of a result."""
    if any(map(_is_of_checks, known.findings)) != any(map(_is_of_checks, opened.findings)):
        return False
    return known.decision == decide_policy(known.findings, opened.definitions.protection)


def _is_of_checks(finding: ChangeFinding) -> bool:
    """Whether it says that the file of checks was changed."""
    return finding.path == CHECK_FILE and finding.kind == "checks_changed"


def _tells_of(known: Evidence, tests: Sequence[str]) -> bool:
    """Whether a result says what became of these tests. Of long lists only a part is kept."""
    if len(known.passed) < MAX_KEPT_IDS:
        return True
    return all(any(is_same_test(test, one) for one in (*known.passed, *known.failed)) for test in tests)


def _read_needs(tx: Reader, task_id: str) -> tuple[Task, TaskRequirements]:
    task = tasks.get(tx, task_id)
    return task, task_requirements.find_requirements(tx, task, parts=tasks.list_parts(tx, task.id))


def _with_tiers(needs: TaskRequirements, tiers: Collection[CheckTier]) -> TaskRequirements:
    """With the trusted checks of the project that only a merge needs."""
    if "full" not in tiers:
        return needs
    return replace(needs, checks=(*needs.checks, *needs.for_merge))


def _make_evidence(
    result: CheckResult,
    opened: CheckedChange,
    origin: EvidenceOrigin,
    *,
    tier: CheckTier,
    task_id: TaskId | None,
    is_merged: bool,
    is_bug: bool,
    named: Sequence[str],
) -> Evidence:
    """A result as it is kept: with what the change as a whole does to what judges it."""
    findings = tuple(sort_findings((*opened.findings, *result.findings)))
    first = [one for one in result.passed if any(one.endswith(test) for test in named)]
    return Evidence(
        id="",
        check_name=result.check,
        definition=result.definition,
        commit_id=result.commit,
        tree=result.tree,
        base=opened.range.base,
        environment=result.environment,
        environment_summary=result.environment_summary,
        verdict=result.verdict,
        reason=result.reason,
        exit_code=result.exit,
        ran=result.ran,
        passed=tuple(dict.fromkeys((*first, *result.passed))),  # the store cuts long lists at the end
        failed=result.failed,
        new_failed=result.new_failed,
        old_failed=result.old_failed,
        flaky=result.flaky,
        decision=decide_policy(findings, opened.definitions.protection),
        findings=findings,
        seconds=result.seconds,
        log=result.log,
        log_bytes=result.log_bytes,
        log_excerpt=result.log_excerpt,
        machine=result.machine,
        asked_by=origin.asked_by,
        task_id=task_id,
        run=origin.run,
        session=origin.session,
        tier=tier,
        is_merged=is_merged,
        is_bug=is_bug,
        created_at=datetime.now(UTC),
    )
