"""A task and its surroundings, for people."""

from binnacle.cli.screen import Screen, mark_status
from binnacle.cli.views import ago, fields, priority, prose
from binnacle.store.views.task_details import RelatedTask, TaskDetails


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
    prose("Acceptance criteria", task.acceptance_criteria, screen)
    prose("Hints", task.hints, screen)
    prose("Pseudocode", task.pseudocode, screen)
    prose("Files to read", task.context_files, screen)
    prose("Files to produce", task.output_artifacts, screen)
    _related("Waits for", details.depends_on, screen)
    _related("Waited for by", details.dependents, screen)
    _related("Parts", details.parts, screen)
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


def _related(title: str, related: tuple[RelatedTask, ...], screen: Screen) -> None:
    if not related:
        return
    screen.line()
    screen.heading(title)
    screen.table(
        ((f"  {one.id}", mark_status(one.status), one.title, one.reason) for one in related),
        flexible=2,
    )
