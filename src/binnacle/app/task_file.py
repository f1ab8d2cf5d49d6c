"""A task as a page in one file, to be kept or sent: what it asks, what shows that it is done, and what was tried."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from binnacle.app.page_document import code, entries, fact_cards, fold, quote, render_document, section, table
from binnacle.app.run_report.hostile_text import html_text
from binnacle.store.views.task_details import RelatedTask, TaskDetails
from binnacle.work.amounts import describe_cost, describe_seconds
from binnacle.work.criterion_proof import join_plain
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence, describe_proof, describe_verdict
from binnacle.work.session import Iteration
from binnacle.work.status import PRIORITIES


def render_task(details: TaskDetails, attempts: Sequence[Iteration], names: Mapping[str, str]) -> str:
    """The page as one text. `names` are those of agents, by id."""
    parts = (
        _head(details, attempts, names),
        _description(details),
        _criteria(details),
        _relations(details),
        _evidence(details),
        _attempts(attempts),
        _comments(details, names),
    )
    return render_document(f"{details.task.id} {details.task.title}", filter(None, parts))


def _head(details: TaskDetails, attempts: Sequence[Iteration], names: Mapping[str, str]) -> str:
    task = details.task
    facts = [
        ("Priority", PRIORITIES[task.priority]),
        ("Known", html_text(describe_proof(task.evidence_level, task.evidence_commit)) or "not done"),
        ("Feature", html_text(task.feature or "none")),
        ("Held by", html_text(names.get(task.claimed_by or "", task.claimed_by or "nobody"))),
        ("Attempts", str(len(attempts))),
        ("Cost", html_text(_cost(attempts))),
    ]
    tags = " ".join(code(tag) for tag in task.tags)
    times = (
        f'<p class="quiet">{code(task.id)} · made {_time(task.created_at)}, changed {_time(task.updated_at)} {tags}</p>'
    )
    status = html_text(task.status.replace("_", " "))
    reason = quote(task.closed_reason)
    return (
        f'<header><h1>{html_text(task.title)}</h1><p class="state active">{status}</p>'
        f"{times}{reason}{fact_cards(facts)}</header>"
    )


def _description(details: TaskDetails) -> str:
    task = details.task
    texts = (("", task.description), ("Steps", task.pseudocode), ("Hints", task.hints))
    found = "".join(f"{f'<h3>{title}</h3>' if title else ''}{quote(text)}" for title, text in texts if text.strip())
    return section("What it asks", found or "<p>It has no description.</p>")


def _criteria(details: TaskDetails) -> str:
    found = join_plain(details.task.acceptance_criteria, details.criteria)
    items = [
        html_text(one.text) + (f'<p class="quiet">{html_text(one.describe())}</p>' if one.check or one.test else "")
        for one in found
    ]
    return section("Acceptance criteria", entries(items)) if items else ""


def _relations(details: TaskDetails) -> str:
    groups = (("Waits for", details.depends_on), ("Is waited for by", details.dependents), ("Parts", details.parts))
    found = "".join(f"<h3>{title}</h3>{entries(map(_related, several))}" for title, several in groups if several)
    return section("Other tasks", found) if found else ""


def _related(task: RelatedTask) -> str:
    return f'{html_text(task.title)} <span class="quiet">{code(task.id)} · {html_text(task.status)}</span>'


def _evidence(details: TaskDetails) -> str:
    waived = [f"waived by {html_text(one.waived_by)}: {html_text(one.reason)}" for one in details.waivers]
    items = [*waived, *map(_result, details.evidence)]
    return section("What shows that it is done", entries(items, empty="<p>Nothing was checked.</p>"))


def _result(one: Evidence) -> str:
    mark = '<b class="good">✓</b>' if one.verdict == "pass" else '<b class="bad">✗</b>'
    place = f"at {code(one.commit_id[:SHORT_COMMIT_CHARACTERS])}, {_time(one.created_at)}"
    log = fold("Output", quote(one.log_excerpt)) if one.log_excerpt else ""
    said = f"{mark} check {code(one.check_name)}: {html_text(describe_verdict(one))}"
    return f'{said} <span class="quiet">{place}</span>{log}'


def _attempts(attempts: Sequence[Iteration]) -> str:
    rows = [
        (
            _time(one.started_at),
            html_text(" ".join(filter(None, (one.agent, one.model)))),
            html_text(one.outcome or "under way"),
            describe_seconds(one.seconds),
            html_text(one.reason),
        )
        for one in attempts
    ]
    return section("Attempts", table(("Started", "Agent", "Outcome", "Time", "Reason"), rows)) if rows else ""


def _comments(details: TaskDetails, names: Mapping[str, str]) -> str:
    items = [
        f'<b>{html_text(names.get(one.author, one.author))}</b> <span class="quiet">{_time(one.created_at)}</span>'
        f"{quote(one.body)}"
        for one in details.comments
    ]
    return section("Comments", entries(items)) if items else ""


def _cost(attempts: Sequence[Iteration]) -> str:
    costs: dict[str, float] = {}
    for one in attempts:
        if one.currency:
            costs[one.currency] = costs.get(one.currency, 0.0) + one.cost
    return describe_cost(costs)


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
