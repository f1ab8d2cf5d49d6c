"""What a task needs before it is done: read from the task, its feature and the project, judged by `work.done_gate`."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from binnacle.errors import ConfigError, Hint, NextStep, PersonNeeded, Unproven
from binnacle.store import evidence, reviews, work_starts
from binnacle.store.transaction import Reader, Writer
from binnacle.work.acceptance import parse_criterion
from binnacle.work.done_gate import (
    REVIEWER_WORDS,
    DoneProof,
    Gap,
    TaskRequirements,
    find_gaps,
    level_of_proof,
    requirements_of,
)
from binnacle.work.evidence import EvidenceLevel
from binnacle.work.review import Acceptance
from binnacle.work.review_policy import is_weaker
from binnacle.work.task import Task, TaskFields

_DECIDING = ("checks", "acceptance_criteria", "feature", "kind", "priority")
"""Fields of a task that decide what has to be proven."""


def find_requirements(tx: Reader, task: TaskFields, *, parts: Sequence[Task] = ()) -> TaskRequirements:
    """What has to be proven of a task.

    Raises:
        ConfigError: the checks of the project, or its rules for reviews, cannot be read. Nothing is closed then.
    """
    return requirements_of(
        task,
        feature_checks=_checks_of_feature(tx, task.feature),
        project=tx.outlook.find_checks(),
        reviews=tx.outlook.find_reviews(),
        parts=parts,
    )


def find_acceptance(tx: Reader, task_id: str, needs: TaskRequirements, proof: DoneProof) -> Acceptance:
    """Who accepted exactly the tree of a proof, by the number of reviewers that is asked for now."""
    return reviews.find_acceptance(tx, task_id, proof.reviewed_tree, reviewers=needs.reviews.reviewers)


def has_checks(tx: Reader) -> bool:
    """Whether a person trusts checks of the project. A file of checks that cannot be read has some."""
    try:
        return bool(tx.outlook.find_checks())
    except ConfigError:
        return True


def list_own_checks(tx: Reader, task: TaskFields) -> tuple[str, ...]:
    """The checks that a task, its criteria or its feature name."""
    criteria = [parse_criterion(text).check for text in task.acceptance_criteria]
    return tuple(dict.fromkeys((*task.checks, *filter(None, criteria), *_checks_of_feature(tx, task.feature))))


def check_proof(tx: Writer, task: Task, needs: TaskRequirements, proof: DoneProof | None) -> EvidenceLevel:
    """The level at which a task is done.

    Raises:
        Unproven: something is missing; the error names it.
    """
    if not needs and proof is None:
        return "said"
    found = evidence.get_many(tx, proof.evidence) if proof is not None else []
    failures = evidence.list_failures(tx, proof.tree) if proof is not None else []
    acceptance = find_acceptance(tx, task.id, needs, proof) if proof is not None else None
    gaps = find_gaps(needs, proof, found, failures=failures, acceptance=acceptance, is_by_person=tx.is_by_person)
    if gaps or (needs and proof is None):
        raise unproven(task, gaps)
    return level_of_proof(proof, found, acceptance) if proof is not None else "said"


def check_new(tx: Writer, draft: TaskFields) -> None:
    """Refuses a new task that is done already, if it would have had to prove it.

    Raises:
        Unproven: it names what it needs.
    """
    if needs := find_requirements(tx, draft):
        what = ", ".join(needs.names)
        raise Unproven(f"a new task cannot be done already: it has to prove {what}", hint="add it as pending")


def unproven(task: Task, gaps: Sequence[Gap]) -> Unproven:
    """The error for a task that is not proven."""
    missing = [one.text for one in gaps]
    if gaps and all(one.is_for_review for one in gaps):
        look = NextStep("look at it", f"review show {task.id}", for_person=True)
        waive = NextStep("or close it without a review", f"task done {task.id} --waive '…'", for_person=True)
        hint: Hint = ("its change has to be accepted", look, waive)
    else:
        waive = NextStep("or waive them", f"task done {task.id} --waive '…'", for_person=True, optional=True)
        hint = ("its checks have to pass, run by Binnacle on the commit of the change", waive)
    return Unproven(f"{task.id} is not done: {'; '.join(missing)}", hint=hint, details={"missing": missing})


def check_weaker(tx: Writer, task: Task, fields: Mapping[str, Any]) -> None:
    """Refuses an agent's change of a task that takes away what it has to prove.

    Raises:
        PersonNeeded: a check, a test or a review would no longer be needed, or no change would be.
    """
    if fields.keys().isdisjoint(_DECIDING) or not tx.is_by_agent:
        return
    before = find_requirements(tx, task)
    if not before:
        return
    changed = msgspec.structs.replace(task, **fields)
    after = find_requirements(tx, changed)
    lost = [name for name in _names_of_checks(before) if name not in _names_of_checks(after)]
    if is_weaker(after.review.require, before.review.require):
        lost.append(f"a review by {REVIEWER_WORDS[before.review.require]}")
    if before.needs_change and not after.needs_change:
        lost.append("a change")
    if task.kind == "bug" and fields.get("kind", "bug") != "bug" and before.checks:
        lost.append("a test that fails on the base")
    if task.status not in ("draft", "pending") or work_starts.find(tx, task.id) is not None:
        lost += _find_lost_criteria(task, changed)
    if lost:
        step = NextStep("change it", f"task update {task.id}", for_person=True)
        raise PersonNeeded(f"only a person may take away what {task.id} has to prove: {', '.join(lost)}", hint=step)


def _find_lost_criteria(task: Task, changed: Task) -> list[str]:
    """The criteria that would no longer be asked for in these words: reviewers must see what work was begun for."""
    kept = {parse_criterion(text).text for text in changed.acceptance_criteria}
    texts = (parse_criterion(text).text for text in task.acceptance_criteria)
    return [f"the criterion {text[:80]!r}" for text in texts if text not in kept]


def check_feature_stays(tx: Writer, feature: str, into: str) -> None:
    """Refuses an agent's move of all tasks of a feature into another one that fewer rules for reviews are about.

    Raises:
        PersonNeeded: a rule names the feature, and not the other.
    """
    rules = tx.outlook.find_reviews().rules if tx.is_by_agent else ()
    if any(feature in rule.features and into not in rule.features for rule in rules):
        step = NextStep("merge it", f"feature merge {feature} --into {into}", for_person=True)
        raise PersonNeeded(f"a rule for reviews is about the feature {feature!r}", hint=step)


def _names_of_checks(needs: TaskRequirements) -> list[str]:
    return [*(one.name for one in needs.checks), *(f"test {test}" for test in needs.tests)]


def check_adoption(tx: Writer, part: Task, whole: Task, *, parts: Sequence[Task]) -> None:
    """Refuses an agent's making of a finished task a part of one that would then need no change of its own.

    Raises:
        PersonNeeded: it would.
    """
    if not tx.is_by_agent:
        return
    before = find_requirements(tx, whole, parts=parts)
    if before.needs_change and not find_requirements(tx, whole, parts=(*parts, part)).needs_change:
        step = NextStep("change it", f"task update {part.id}", for_person=True)
        raise PersonNeeded(f"only a person may make {part.id}, which is done, a part of {whole.id}", hint=step)


def _checks_of_feature(tx: Reader, feature: str | None) -> tuple[str, ...]:
    if feature is None:
        return ()
    row = tx.row("select checks from feature where name = ?", feature)
    return msgspec.json.decode(row[0], type=tuple[str, ...]) if row else ()
