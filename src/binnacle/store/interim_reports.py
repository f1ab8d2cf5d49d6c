"""Reports of an agent during its work: they take effect at once, whatever happens to the task."""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.errors import Duplicate, InvalidInput
from binnacle.store import comments, learnings, questions, tasks
from binnacle.store.reports import find_target, save_report
from binnacle.store.transaction import Reader, Writer
from binnacle.work.journal import Comment
from binnacle.work.learning import AddedLearning
from binnacle.work.report import (
    MAX_WORDS_CHARACTERS,
    Category,
    LearningKind,
    Question,
    Report,
    Scope,
    Severity,
    SuggestionKind,
    is_same_work,
    title_for,
    words_of,
)
from binnacle.work.task import NewTask, Task
from binnacle.work.text import clean_name, clean_text

MAX_COMPARED_TASKS = 500
"""How many of a feature's newest open tasks a suggestion is compared with."""


class InterimResult(NamedTuple):
    """A report and its effect: exactly one of the other fields is set."""

    report: Report
    comment: Comment | None = None
    learning: AddedLearning | None = None
    task: Task | None = None
    question: Question | None = None


def clean_words(text: str, *, what: str) -> str:
    """The cleaned text of an agent, which may not be empty."""
    said = clean_text(text, what=what, limit=MAX_WORDS_CHARACTERS)
    if not said:
        raise InvalidInput(f"{what} is empty", hint="say it in a sentence")
    return said


def ask(tx: Writer, text: str, *, blocking: bool, options: Sequence[str] = (), preferred: str = "") -> InterimResult:
    """Asks people about the task."""
    on = find_target(tx)
    question = questions.ask(tx, on.task.id, text, blocking=blocking, options=options, preferred=preferred)
    body = {"question": question.text, "blocking": blocking, "id": question.id}
    return InterimResult(save_report(tx, on, "question", body), question=question)


def flag(tx: Writer, what: str, *, severity: Severity, category: Category | None = None) -> InterimResult:
    """Points something out, as a comment on the task."""
    on = find_target(tx)
    report = save_report(
        tx, on, "flag", {"what": clean_words(what, what="what"), "severity": severity, "category": category}
    )
    return InterimResult(report, comment=comments.add(tx, on.task.id, words_of(report)))


def learn(tx: Writer, text: str, *, kind: LearningKind, rationale: str = "", scope: Scope = "feature") -> InterimResult:
    """Keeps a finding: for the project, for the task's feature, or as a comment on the task."""
    on = find_target(tx)
    said = {
        "text": clean_words(text, what="text"),
        "rationale": clean_text(rationale, what="rationale", limit=MAX_WORDS_CHARACTERS),
    }
    report = save_report(tx, on, "learning", {**said, "kind": kind, "scope": scope})
    if scope == "task":
        return InterimResult(report, comment=comments.add(tx, on.task.id, words_of(report)))
    feature = on.task.feature if scope == "feature" else None
    added = learnings.add(tx, said["text"], feature=feature, reason=said["rationale"], task=on.task.id)
    return InterimResult(report, learning=added)


def suggest(tx: Writer, what: str, *, kind: SuggestionKind, why: str, feature: str | None = None) -> InterimResult:
    """Suggests work. New work becomes a draft, for a person or a planner to decide on; anything else a comment.

    Raises:
        Duplicate: the error names the open task that means the same.
    """
    on = find_target(tx)
    body = {
        "what": clean_words(what, what="what"),
        "why": clean_words(why, what="why"),
        "kind": kind,
        "feature": feature,
    }
    if kind not in ("new_task", "split"):
        report = save_report(tx, on, "suggestion", body)
        return InterimResult(report, comment=comments.add(tx, on.task.id, words_of(report)))
    title = title_for(body["what"] or "")
    name = clean_name(feature, what="feature") if feature else on.task.feature
    _check_is_new(tx, title, name)
    how = "Split off" if kind == "split" else "Suggested while working on"
    parts = (body["what"] if title != body["what"] else "", f"Why: {why}", f"{how} {on.task.id}.")
    draft = NewTask(
        title=title,
        description="\n\n".join(part for part in parts if part),
        status="draft",
        feature=name,
        provenance="agent",
    )
    report = save_report(tx, on, "suggestion", body)
    return InterimResult(report, task=tasks.add(tx, [draft])[0])


def _check_is_new(tx: Reader, title: str, feature: str | None) -> None:
    """Refuses a suggestion that means the same as an open task: agents often word a planned task differently."""
    where, values = ("feature = ?", [feature]) if feature else ("feature is null", [])
    rows = tx.rows(
        f"select id, title, status from task where {where} and status not in ('done', 'cancelled') "
        "order by number desc limit ?",
        *values,
        MAX_COMPARED_TASKS,
    )
    for task_id, known, status in rows:
        if is_same_work(title, known):
            raise Duplicate(
                f"{task_id} ({status}) is nearly the same: {known}",
                hint=f"leave it; if {task_id} lacks something, flag that instead",
                details={"existing": task_id},
            )
