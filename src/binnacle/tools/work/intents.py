"""Tools for an agent that works on its session's only task: it reports how the work goes and moves nothing itself."""

from typing import Annotated, Any

from msgspec import Meta

from binnacle.store import interim_reports, reports
from binnacle.store.reports import SettledTask
from binnacle.store.transaction import Writer
from binnacle.tools.outcome import ToolReply
from binnacle.tools.work.task_text import Lines
from binnacle.tools.work.typed_tool import tool
from binnacle.work.done_gate import describe_request
from binnacle.work.report import (
    MAX_WORDS_CHARACTERS,
    BlockerKind,
    Category,
    LearningKind,
    ReportKind,
    Scope,
    Severity,
    SuggestionKind,
)
from binnacle.work.status import is_closed
from binnacle.work.text import clean_text

CATEGORY = "intents"
UNBOUND = ("E_REFUSED", "the session is bound to no task and you hold none")


@tool(title="Report the task done", category=CATEGORY, aliases=["done"], errors=[UNBOUND])
def report_done(
    tx: Writer, summary: Annotated[str, Meta(description="what was done and how it was checked")]
) -> ToolReply:
    """Says that your task is done. The last closing report of a session counts; stop after it."""
    return _close(tx, "done", {"summary": summary})


@tool(title="Report the task partly done", category=CATEGORY, aliases=["partial"], errors=[UNBOUND])
def report_partial(
    tx: Writer,
    summary: Annotated[str, Meta(description="what was done")],
    remaining: Annotated[str, Meta(description="what is left for the next session")],
) -> ToolReply:
    """Says that part of your task is done and what remains. The next session continues from there."""
    return _close(tx, "partial", {"summary": summary, "remaining": remaining})


@tool(title="Report being stuck", category=CATEGORY, aliases=["stuck"], errors=[UNBOUND])
def report_stuck(
    tx: Writer, reason: Annotated[str, Meta(description="what was tried and why it did not work")]
) -> ToolReply:
    """Says that you cannot make progress. Another session tries again and sees what you tried."""
    return _close(tx, "stuck", {"reason": reason})


@tool(title="Report a blocker", category=CATEGORY, aliases=["blocked"], errors=[UNBOUND])
def report_blocked(
    tx: Writer,
    on: Annotated[str, Meta(description="id or title of the task that must be done first, or what else is missing")],
    *,
    kind: Annotated[BlockerKind | None, Meta(description="derived from 'on' when left out")] = None,
    detail: Annotated[str, Meta(description="why it is needed")] = "",
) -> ToolReply:
    """Says that your task must wait for something. If that is a task, yours is ready again when it is done."""
    found = reports.find_blocking_task(tx, {"on": on, "kind": kind})
    if found is not None and not is_closed(found.status):
        said = f"it waits for {found.id} {found.title}"
    else:
        why = f"{found.id} is {found.status}, so " if found else f"no task {on!r} was found, so "
        said = f"{why if found or kind == 'upstream_task' else ''}a person has to unblock it"
    reply = _close(tx, "blocked", {"on": on}, kind=kind, detail=detail)
    return reply._replace(text=f"{reply.text}\n{said}")


@tool(title="Ask a question", category=CATEGORY, aliases=["ask"], synonyms={"text": "question"}, errors=[UNBOUND])
def report_question(
    tx: Writer,
    question: str,
    blocking: Annotated[bool, Meta(description="whether the task must wait for the answer")],
    *,
    options: Annotated[Lines, Meta(description="answers to choose from")] = (),
    preferred: Annotated[str, Meta(description="what you would do")] = "",
) -> ToolReply:
    """Asks people about your task. They answer later, for the next session; do not wait."""
    kept = interim_reports.ask(tx, question, blocking=blocking, options=options, preferred=preferred)
    asked = kept.question
    assert asked is not None
    if asked.answered_at is not None:
        said = f"{asked.id} was answered by {asked.answered_by}: {asked.answer}"
    elif asked.blocking:
        said = f"Asked: {asked.id}. The task waits for the answer; report what you did so far and stop."
    else:
        said = f"Asked: {asked.id}. Continue with what you think best."
    return ToolReply({"report": kept.report.id, "question": asked}, said)


@tool(title="Flag a problem", category=CATEGORY, aliases=["flag"], errors=[UNBOUND])
def report_flag(
    tx: Writer,
    what: Annotated[str, Meta(description="what is wrong, and where")],
    *,
    severity: Severity = "warning",
    category: Category | None = None,
) -> ToolReply:
    """Points out something wrong that is not your task to fix. It becomes a comment on the task."""
    kept = interim_reports.flag(tx, what, severity=severity, category=category)
    return ToolReply({"report": kept.report.id, "comment": kept.comment}, f"Flagged on {kept.report.task_id}")


@tool(
    title="Report a learning",
    category=CATEGORY,
    aliases=["learned"],
    synonyms={"reason": "rationale"},
    errors=[UNBOUND, ("E_FULL", "no room; nothing was kept")],
)
def report_learning(
    tx: Writer,
    text: Annotated[str, Meta(description="what you found out, in a sentence; at most 500 characters")],
    *,
    kind: LearningKind = "discovery",
    rationale: Annotated[str, Meta(description="how it is known, or why it was decided")] = "",
    scope: Annotated[Scope, Meta(description="whom it helps")] = "feature",
) -> ToolReply:
    """Keeps a finding that later sessions should know."""
    kept = interim_reports.learn(tx, text, kind=kind, rationale=rationale, scope=scope)
    if kept.learning is None:
        return ToolReply({"report": kept.report.id, "comment": kept.comment}, f"Kept on {kept.report.task_id}")
    outcome, learning = kept.learning.outcome, kept.learning.learning
    where = f"feature {learning.feature}" if learning.feature else "the project"
    data = {"report": kept.report.id, "outcome": outcome, "learning": learning}
    return ToolReply(data, f"Learning {outcome} for {where}: {learning.text}")


@tool(
    title="Suggest work",
    category=CATEGORY,
    aliases=["suggest"],
    errors=[UNBOUND, ("E_DUPLICATE", "such a task exists; the error names it")],
)
def report_suggestion(
    tx: Writer,
    what: Annotated[str, Meta(description="what should be done; its first line becomes the title")],
    why: str,
    *,
    kind: SuggestionKind = "new_task",
    feature: Annotated[str | None, Meta(description="name of an existing feature; default: your task's")] = None,
) -> ToolReply:
    """Suggests work beyond your task. A new task or a split becomes a draft, anything else a comment."""
    kept = interim_reports.suggest(tx, what, kind=kind, why=why, feature=feature)
    if kept.task is None:
        return ToolReply({"report": kept.report.id, "comment": kept.comment}, f"Noted on {kept.report.task_id}")
    said = f"Draft {kept.task.id}: {kept.task.title}"
    return ToolReply({"report": kept.report.id, "task": kept.task.id, "title": kept.task.title}, said)


def _close(tx: Writer, closing: ReportKind, said: dict[str, str], *, detail: str = "", **more: Any) -> ToolReply:
    body = {name: interim_reports.clean_words(value, what=name) for name, value in said.items()}
    detail = clean_text(detail, what="detail", limit=MAX_WORDS_CHARACTERS)
    on, report, settled, request = reports.close(tx, closing, {**body, "detail": detail, **more})
    data: dict[str, Any] = {"report": report.id, "task": on.task.id}
    if settled is not None:
        return ToolReply({**data, "settled": settled}, _format_settled(settled))
    if request is not None:
        text = f"Reported done for {on.task.id}: {describe_request(request)}"
        return ToolReply({**data, "requested": request}, text, request=request)
    text = f"Reported {closing} for {on.task.id}; it counts when this session ends. Stop here."
    if why := reports.describe_loss(tx, on):
        return ToolReply({**data, "warnings": [why]}, f"{text}\nwarning: {why}; it will be kept only as a comment")
    return ToolReply(data, text)


def _format_settled(settled: SettledTask) -> str:
    why = f" ({settled.note})" if settled.note else ""
    more = f"\nnow ready: {', '.join(settled.unblocked)}" if settled.unblocked else ""
    return f"Reported {settled.report}: {settled.task_id} is {settled.outcome}{why}{more}"
