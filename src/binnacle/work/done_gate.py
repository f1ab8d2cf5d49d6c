"""The gate before `done`: what has to be proven of a task, and whether it is.

A task whose checks are known is done when Binnacle saw them pass, not when someone says so. What has to pass is
`requirements_of`, whether it did is `find_gaps`: both are functions of values, so the one place that closes tasks
(`store.task_moves.finish`) decides without looking at anything else.

Where the project's rules ask for a review, or a finding asks for a person, somebody has to have accepted exactly the
tree of the change. A person's acceptance settles findings that ask for one, but not those that the policy refuses; an
agent's settles neither, and nobody's acceptance replaces a check.

A proof is bound to one tree. It names evidence by id; what counts is what the store has under these ids: the check,
exactly as it is defined now, passed on that tree. Another tree, another definition and any other verdict prove nothing,
and neither does a pass of a check that failed on the same tree before: a second run buys a label.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice
from typing import Literal

from msgspec import Struct

from binnacle.work.acceptance import parse_criterion
from binnacle.work.evidence import PROVEN, SHORT_COMMIT_CHARACTERS, Evidence, EvidenceLevel, describe_verdict
from binnacle.work.gaming import PolicyDecision, classify_path, describe_finding
from binnacle.work.ids import TaskId
from binnacle.work.review import Acceptance
from binnacle.work.review_policy import NO_REVIEWS, ReviewNeed, ReviewPolicy, ReviewRequirement, find_need
from binnacle.work.task import Task, TaskFields

MAX_DOUBTS = 20
"""Findings that a proof keeps."""

REVIEWER_WORDS: dict[ReviewRequirement, str] = {
    "none": "nobody",
    "agent": "an agent that did not work on it",
    "person": "a person",
    "both": "a person and an agent that did not work on it",
}

REQUEST_WORDS = {"waiting": "waits for its checks", "granted": "granted", "refused": "refused"}

_CONCERNS_ALL = ("runner", "lock", "coverage", "ci", "binnacle")


class TrustedCheck(Struct, frozen=True, kw_only=True):
    """A check of the project as the gate sees it."""

    name: str
    definition: str = ""
    """Digest of its definition, as it was trusted; empty if it cannot be run."""

    problem: str = ""
    """Why it cannot be run: it was changed and not trusted since, or it is gone."""

    is_for_all: bool = False
    """Whether every task needs it."""

    has_paths: bool = False
    """Whether it is about certain files only, so that a change of others does not need it."""


class RequiredCheck(Struct, frozen=True, kw_only=True):
    """A check that a task needs."""

    name: str
    definition: str = ""
    problem: str = ""
    may_be_unconcerned: bool = False
    """Whether it is not needed if the change touches none of its files."""


class TaskRequirements(Struct, frozen=True, kw_only=True):
    """What has to be proven before a task is done."""

    checks: tuple[RequiredCheck, ...] = ()
    for_merge: tuple[RequiredCheck, ...] = ()
    """Checks of the project that are needed only when the change is merged."""

    tests: tuple[str, ...] = ()
    """Tests that acceptance criteria name."""

    needs_change: bool = False
    """Whether the proof has to name a change: without one, nothing was done."""

    reviews: ReviewPolicy = NO_REVIEWS
    """Who has to look at changes, and what of the task that depends on."""

    feature: str | None = None
    priority: int = 2

    def __bool__(self) -> bool:
        return bool(self.checks or self.tests or self.review)

    @property
    def review(self) -> ReviewNeed:
        """Who may have to accept the change, as long as nobody knows which files it touches."""
        return find_need(self.reviews, feature=self.feature, priority=self.priority)

    @property
    def names(self) -> tuple[str, ...]:
        """What is needed, by name."""
        review = (f"a review by {REVIEWER_WORDS[self.review.require]}",) if self.review else ()
        return (*(check.name for check in self.checks), *(f"test {test}" for test in self.tests), *review)


class Gap(Struct, frozen=True):
    """Something that is not proven."""

    text: str
    is_for_person: bool = False
    """Whether a person has to decide, and nothing is left to be done by who did the work."""

    is_for_review: bool = False
    """Whether a review settles it."""


class DoneProof(Struct, frozen=True, kw_only=True):
    """What Binnacle saw of the work on a task at one commit. Agents cannot make one: no tool takes it."""

    commit_id: str
    tree: str
    base: str
    """The commit from which the work began; empty if that is not known."""

    base_tree: str = ""
    evidence: tuple[str, ...]
    """Ids of the results."""

    unconcerned: tuple[str, ...] = ()
    """Checks of the project whose files the change does not touch."""

    untouched: tuple[str, ...] = ()
    """Patterns of the rules for reviews that match no file of the change."""

    decision: PolicyDecision = "allow"
    """What follows from what the change does to what judges it, whether or not a check ran."""

    doubts: tuple[str, ...] = ()
    """The findings behind that, in words."""

    is_merged: bool = False
    """Whether the tree is that of the branch that the change was merged into."""

    change_tree: str = ""
    """The tree of the change itself, which was reviewed, if Binnacle merged it into another one."""

    @property
    def reviewed_tree(self) -> str:
        """The tree that has to be accepted."""
        return self.change_tree or self.tree if self.is_merged else self.tree


class DoneRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `done` that waits for checks."""

    report: str
    """Id of the report that keeps it."""

    task_id: TaskId
    checks: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Why a check cannot be run."""

    review: ReviewRequirement = "none"
    """Who may have to accept the change."""


class RequestState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of the last time that a task was called done."""

    report: str
    state: Literal["waiting", "granted", "refused"]
    asked_by: str
    asked_at: datetime
    settled_at: datetime | None = None
    commit: str = ""
    """The commit at which it was refused."""

    reason: str = ""
    """Why it was refused."""


def requirements_of(
    task: TaskFields,
    *,
    feature_checks: Sequence[str],
    project: Sequence[TrustedCheck],
    reviews: ReviewPolicy = NO_REVIEWS,
    parts: Sequence[Task] = (),
) -> TaskRequirements:
    """What a task needs: its own checks and those that its criteria name, its feature's, the project's, and reviews."""
    criteria = [parse_criterion(text) for text in task.acceptance_criteria]
    named = dict.fromkeys((*task.checks, *(one.check for one in criteria if one.check), *feature_checks))
    known = {check.name: check for check in project}
    for check in project:
        if check.is_for_all:
            named.setdefault(check.name)
    asked = {*task.checks, *feature_checks, *(one.check for one in criteria)}
    return TaskRequirements(
        checks=tuple(_require(name, known.get(name), is_named=name in asked) for name in named),
        for_merge=tuple(_require(one.name, one, is_named=False) for one in project if one.name not in named),
        tests=tuple(dict.fromkeys(one.test for one in criteria if one.test)),
        needs_change=task.kind != "idea" and not _has_proven_part(parts),
        reviews=reviews,
        feature=task.feature,
        priority=task.priority,
    )


def _require(name: str, known: TrustedCheck | None, *, is_named: bool) -> RequiredCheck:
    if known is None:
        return RequiredCheck(name=name, problem=f"no check {name!r} is trusted here")
    problem = known.problem or ("" if known.definition else f"the check {name!r} cannot be run here")
    return RequiredCheck(
        name=name, definition=known.definition, problem=problem, may_be_unconcerned=known.has_paths and not is_named
    )


def _has_proven_part(parts: Sequence[Task]) -> bool:
    """Whether the work was done in parts, so that nothing of the whole is left to change."""
    return any(part.status == "done" and part.kind != "idea" and part.evidence_level in PROVEN for part in parts)


def find_gaps(
    needs: TaskRequirements,
    proof: DoneProof | None,
    found: Sequence[Evidence],
    *,
    failures: Sequence[Evidence] = (),
    acceptance: Acceptance | None = None,
    is_by_person: bool = False,
) -> list[Gap]:
    """What is not proven; empty if the task may be closed.

    `found` is what the store has of the proof, `failures` what it has of failed checks on the same tree, `acceptance`
    who accepted the tree. A person need not have noted where the work began.
    """
    if not needs:
        return []
    if proof is None:
        problems = [Gap(check.problem) for check in needs.checks if check.problem]
        what = "its checks have not run" if needs.checks or needs.tests else "nobody has accepted its change"
        return problems or [Gap(f"{what}: {', '.join(needs.names)}")]
    gaps: list[Gap] = []
    if needs.needs_change and not proof.base and not is_by_person:
        gaps.append(Gap("it is not known where the work began: a task has to be taken before the work"))
    elif needs.needs_change and is_without_change(proof):
        gaps.append(Gap("nothing was changed: there is no commit since the work began"))
        if not proof.evidence:
            return gaps
    here = [one for one in found if one.id in proof.evidence and one.tree == proof.tree]
    if len(here) < len(set(proof.evidence)):
        gaps.append(Gap("some of the evidence is missing or belongs to another tree"))
    gaps += filter(None, (_find_gap(check, proof, here, failures) for check in needs.checks))
    gaps += [Gap(f"the test {test!r} has not passed") for test in needs.tests if not _has_passed(test, needs, here)]
    if proof.decision != "allow" and all(one.decision == "allow" for one in here):
        gaps.append(_describe_doubt("the change", proof.decision, proof.doubts))
    accepted = acceptance if acceptance is not None and acceptance.tree == proof.reviewed_tree else None
    gaps += _find_review_gaps(find_policy_need(needs, proof))
    return [one for one in gaps if not _is_settled(one, accepted)]


def find_review_need(needs: TaskRequirements, proof: DoneProof, found: Sequence[Evidence] = ()) -> ReviewNeed:
    """Who has to accept a change: those that the project's rules name, and a person if a finding asks for one."""
    here = [one for one in found if one.id in proof.evidence and one.decision == "ask"]
    doubts = [describe_finding(finding) for one in here for finding in one.findings[:3]]
    doubts += proof.doubts[:3] if proof.decision == "ask" else ()
    if (here or proof.decision == "ask") and not doubts:
        doubts = ["the change touches what judges it"]
    return find_policy_need(needs, proof, doubts=tuple(dict.fromkeys(doubts)) if needs else ())


def find_policy_need(needs: TaskRequirements, proof: DoneProof, *, doubts: Sequence[str] = ()) -> ReviewNeed:
    """Who has to accept a change whose files are known, by the project's rules."""
    return find_need(
        needs.reviews, feature=needs.feature, priority=needs.priority, untouched=proof.untouched, doubts=doubts
    )


def _find_review_gaps(need: ReviewNeed) -> list[Gap]:
    """What a review has to settle, as if nobody had looked yet."""
    why = f" ({'; '.join(need.reasons)})" if need.reasons else ""
    gaps = []
    if need.needs_person:
        gaps.append(Gap(f"a person has to accept exactly this tree{why}", is_for_person=True, is_for_review=True))
    if need.needs_agents:
        words = f"an agent that did not work on it has to accept exactly this tree{why}"
        gaps.append(Gap(words, is_for_review=True))
    return gaps


def _is_settled(gap: Gap, accepted: Acceptance | None) -> bool:
    """Whether those have accepted the tree who settle this."""
    return (
        accepted is not None
        and gap.is_for_review
        and bool(accepted.people if gap.is_for_person else accepted.settles_agents)
    )


def is_concerned(patterns: Sequence[str], paths: Collection[str]) -> bool:
    """Whether a check about certain files is concerned by a change of `paths`.

    Whatever decides how programs are built and tested concerns all checks.
    """
    if not patterns or any(classify_path(path) in _CONCERNS_ALL for path in paths):
        return True
    return any(fnmatchcase(path, pattern) for path in paths for pattern in patterns)


def is_without_change(proof: DoneProof) -> bool:
    """Whether a proof is about the very tree from which the work began."""
    return not proof.commit_id or proof.commit_id == proof.base or proof.tree in ("", proof.base_tree)


def _find_gap(
    check: RequiredCheck, proof: DoneProof, here: Sequence[Evidence], failures: Sequence[Evidence]
) -> Gap | None:
    if check.problem:
        return Gap(check.problem)
    if check.may_be_unconcerned and check.name in proof.unconcerned:
        return None
    return _find_doubt(check, proof, [one for one in here if one.check_name == check.name], failures)


def _find_doubt(
    check: RequiredCheck, proof: DoneProof, results: Sequence[Evidence], failures: Sequence[Evidence]
) -> Gap | None:
    """Why the results of a check do not show that it passes; None if they do."""
    current = [one for one in results if one.definition == check.definition]
    if not current:
        return Gap(f"the check {check.name!r} has {'another definition now' if results else 'not passed'}")
    if worst := next((one for one in current if one.verdict != "pass"), None):
        return Gap(f"the check {check.name!r} did not pass: {describe_verdict(worst)}")
    if any(_contradicts(one, check, proof) for one in failures):
        return Gap(f"the check {check.name!r} is flaky: it failed on the same tree before")
    if doubt := next((one for one in current if one.decision != "allow"), None):
        return _describe_doubt(
            f"the check {check.name!r} passed", doubt.decision, map(describe_finding, doubt.findings)
        )
    return None


def _describe_doubt(what: str, decision: PolicyDecision, findings: Iterable[str]) -> Gap:
    """What follows from findings: they are refused until the policy allows them, or a person accepts the change."""
    why = "; ".join(islice(findings, 3)) or "the change touches what judges it"
    if decision == "refuse":
        return Gap(f"{what}, but what judges the change may not be changed so: {why}")
    return Gap(f"{what}, but a person has to look at it: {why}", is_for_person=True, is_for_review=True)


def _contradicts(failure: Evidence, check: RequiredCheck, proof: DoneProof) -> bool:
    """Whether the same check failed before, for the same change. A second run buys a label, not a pass."""
    is_same = (failure.check_name, failure.definition, failure.tree) == (check.name, check.definition, proof.tree)
    return is_same and failure.base in ("", proof.base) and failure.verdict in ("fail", "flaky")


def _has_passed(test: str, needs: TaskRequirements, here: Sequence[Evidence]) -> bool:
    definitions = {check.definition for check in needs.checks if check.definition}
    counted = [one for one in here if one.definition in definitions]
    has_failed = any(is_same_test(test, known) for one in counted for known in one.failed)
    passed = (known for one in counted if one.verdict == "pass" for known in one.passed)
    return not has_failed and any(is_same_test(test, known) for known in passed)


def is_same_test(named: str, test_id: str) -> bool:
    """Whether a criterion's test means a test's id: all of it, or its end from a separator on."""
    return test_id == named or test_id.endswith((f"::{named}", f".{named}", f"/{named}", f" {named}"))


def level_of_proof(
    proof: DoneProof, found: Collection[Evidence], acceptance: Acceptance | None = None
) -> EvidenceLevel:
    """The level of a task that a sufficient proof closes. Who accepted the change saw more than its checks."""
    if acceptance is not None and acceptance.tree == proof.reviewed_tree and (acceptance.people or acceptance.agents):
        return "accepted"
    if not any(one.id in proof.evidence for one in found):  # the change concerns no check
        return "said"
    return "merged" if proof.is_merged else "checked"


def describe_request(request: DoneRequest) -> str:
    """What happens to a `done` that waits, and what is in its way."""
    what = ", ".join((*request.checks, *(f"test {test}" for test in request.tests)))
    wanted = [f"its checks pass on the commit of the change: {what}"] if what else []
    if request.review != "none":
        wanted.append(f"{REVIEWER_WORDS[request.review]} has accepted the change, if its files need that")
    return "; ".join((f"not done yet: it is done when {', and '.join(wanted)}", *request.problems))


def describe_request_state(request: RequestState) -> str:
    """What became of a `done`, in a line."""
    at = f" at commit {request.commit[:SHORT_COMMIT_CHARACTERS]}" if request.commit else ""
    why = f": {request.reason}" if request.reason else ""
    return f"called done by {request.asked_by}, and {REQUEST_WORDS[request.state]}{at}{why}"
