"""What a task needs before it is done: read from the task, its feature and the project, judged by `work.done_gate`."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from binnacle.errors import NextStep, PersonNeeded, Unproven
from binnacle.store import evidence
from binnacle.store.transaction import Reader, Writer
from binnacle.work.done_gate import DoneProof, Gap, TaskRequirements, find_gaps, level_of_proof, requirements_of
from binnacle.work.evidence import EvidenceLevel
from binnacle.work.task import Task, TaskFields


def find_requirements(tx: Reader, task: TaskFields, *, parts: Sequence[Task] = ()) -> TaskRequirements:
    """What has to be proven of a task.

    Raises:
        ConfigError: the checks of the project cannot be read. Nothing is closed then.
    """
    project = tx.outlook.find_checks()
    return requirements_of(task, feature_checks=_checks_of_feature(tx, task.feature), project=project, parts=parts)


def check_proof(tx: Writer, task: Task, needs: TaskRequirements, proof: DoneProof | None) -> EvidenceLevel:
    """The level at which a task is done.

    Raises:
        Unproven: something is missing; the error names it.
    """
    if not needs and proof is None:
        return "said"
    found = evidence.get_many(tx, proof.evidence) if proof is not None else []
    failures = evidence.list_failures(tx, proof.tree) if proof is not None else []
    gaps = find_gaps(needs, proof, found, failures=failures, is_by_person=tx.by.kind == "human")
    if gaps or (needs and proof is None):
        raise unproven(task, gaps)
    return level_of_proof(proof, found) if proof is not None else "said"


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
    waive = NextStep("or waive them", f"task done {task.id} --waive '…'", for_person=True, optional=True)
    hint = ("its checks have to pass, run by Binnacle on the commit of the change", waive)
    return Unproven(f"{task.id} is not done: {'; '.join(missing)}", hint=hint, details={"missing": missing})


def check_weaker(tx: Writer, task: Task, fields: Mapping[str, Any]) -> None:
    """Refuses an agent's change of a task that takes away what it has to prove.

    Raises:
        PersonNeeded: a check or a test would no longer be needed, or no change would be.
    """
    if tx.by.kind != "agent" or fields.keys().isdisjoint(("checks", "acceptance_criteria", "feature", "kind")):
        return
    before = find_requirements(tx, task)
    if not before:
        return
    after = find_requirements(tx, msgspec.structs.replace(task, **fields))
    lost = [name for name in before.names if name not in after.names]
    if before.needs_change and not after.needs_change:
        lost.append("a change")
    if lost:
        step = NextStep("change it", f"task update {task.id}", for_person=True)
        raise PersonNeeded(f"only a person may take away what {task.id} has to prove: {', '.join(lost)}", hint=step)


def _checks_of_feature(tx: Reader, feature: str | None) -> tuple[str, ...]:
    if feature is None:
        return ()
    row = tx.row("select checks from feature where name = ?", feature)
    return msgspec.json.decode(row[0], type=tuple[str, ...]) if row else ()
