"""A task and its surroundings, for people."""

from datetime import UTC, datetime

from binnacle.cli.screen import Screen, mark_status
from binnacle.cli.views import ago, fields, priority, prose
from binnacle.cli.visible_text import visible
from binnacle.store.views.task_details import RelatedTask, TaskDetails
from binnacle.work.acceptance import parse_criterion
from binnacle.work.criterion_proof import CriterionState
from binnacle.work.evidence import describe_level, describe_verdict
from binnacle.work.observation import describe_observed
from binnacle.work.review import describe_remark
from binnacle.work.task import Task

CRITERION_MARKS: dict[CriterionState, tuple[str, str]] = {
    "proven": ("✓", "green"),
    "failed": ("✗", "red"),
    "open": ("◇", "yellow"),
}


def show_details(details: TaskDetails, screen: Screen) -> None:
    """Prints everything about a task."""
    task = details.task
    screen.heading(f"{task.id}  {task.title}")
    claim = f"{task.claimed_by} (claim {task.fence})" if task.claimed_by else ""
    fields(
        (
            ("status", f"{mark_status(task.status)}{' – ' + task.closed_reason if task.closed_reason else ''}"),
            ("priority", priority(task.priority)),
            ("kind", task.kind),
            ("feature", task.feature),
            ("discipline", task.discipline),
            ("parent", task.parent),
            ("tags", task.tags),
            ("covers", task.covers),
            ("checks", task.checks),
            ("evidence", _evidence(task)),
            ("queue", task.queue_position),
            ("held by", claim),
            ("held until", task.claim_expires_at),
            ("turns", task.estimated_turns),
            ("from", task.provenance),
            ("created", task.created_at),
            ("changed", task.updated_at),
            ("closed", task.closed_at),
        ),
        screen,
    )
    prose("Description", task.description, screen)
    _show_criteria(details, screen)
    prose("Hints", task.hints, screen)
    prose("Pseudocode", task.pseudocode, screen)
    prose("Files to read", task.context_files, screen)
    prose("Files to produce", task.output_artifacts, screen)
    _related("Waits for", details.depends_on, screen)
    _related("Waited for by", details.dependents, screen)
    _related("Parts", details.parts, screen)
    _show_evidence(details, screen)
    _show_review(details, screen)
    for question in details.questions:
        screen.line()
        screen.heading(f"Question {question.id}")
        screen.block(question.text)
        answer = f"{question.answered_by}: {question.answer}" if question.answered_at else "no answer yet"
        screen.block(answer, indent=4)
    if details.comments:
        screen.line()
        screen.heading("Comments")
    for comment in details.comments:
        screen.line(f"  {screen.styled(f'{comment.author}, {ago(comment.created_at)} ({comment.id})', 'dim')}")
        screen.block(comment.body, indent=4)


def _show_criteria(details: TaskDetails, screen: Screen) -> None:
    """Each criterion, and below it what shows it and whether that is proven."""
    if not details.task.acceptance_criteria:
        return
    screen.line()
    screen.heading("Acceptance criteria")
    proofs = iter(details.criteria)
    for line in details.task.acceptance_criteria:
        parsed = parse_criterion(line)
        screen.block(f"- {parsed.text}")
        if parsed.check or parsed.test:
            proof = next(proofs)
            mark, style = CRITERION_MARKS[proof.state]
            screen.line(f"    {screen.styled(mark, style)} {proof.describe()}")
        else:
            screen.line(screen.styled("    no check or test shows it", "dim"))


def _evidence(task: Task) -> str:
    return describe_level(task.evidence_level, task.evidence_commit, task.evidence_at, now=datetime.now(UTC))


def _show_evidence(details: TaskDetails, screen: Screen) -> None:
    if not (details.evidence or details.waivers or details.observed):
        return
    screen.line()
    screen.heading("Evidence")
    for waiver in details.waivers:
        screen.line(f"  waived by {waiver.waived_by}, {ago(waiver.created_at)}: {waiver.reason}")
    if details.observed:
        screen.line(f"  observed: {visible(describe_observed(details.observed))}, in the folder of its agent")
    rows = (
        (f"  {one.id}", one.check_name, describe_verdict(one), one.commit_id[:8], ago(one.created_at))
        for one in details.evidence
    )
    screen.table(rows, flexible=2)


def _show_review(details: TaskDetails, screen: Screen) -> None:
    if details.review is None and not details.remarks:
        return
    screen.line()
    screen.heading("Review")
    if (found := details.review) is not None:
        screen.line(f"  {found.id} waits for {found.require}, {ago(found.created_at)}: {'; '.join(found.reasons)}")
    for remark in details.remarks:
        screen.block(f"{remark.id} {remark.state}: {describe_remark(remark)}")


def _related(title: str, related: tuple[RelatedTask, ...], screen: Screen) -> None:
    if not related:
        return
    screen.line()
    screen.heading(title)
    screen.table(
        ((f"  {one.id}", mark_status(one.status), one.title, one.reason) for one in related),
        flexible=2,
    )
