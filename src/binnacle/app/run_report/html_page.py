"""The run report as a page in one file."""

from collections.abc import Sequence

from binnacle.app.page_document import code, entries, fact_cards, fold, quote, render_document, section, table
from binnacle.app.run_report.hostile_text import html_lines, html_text
from binnacle.app.run_report.values import UNPROVEN_PARTS, ReportedTask, RunReport
from binnacle.store.views.spending import SpendingLine
from binnacle.work.amounts import count, describe_budget, describe_cost, describe_seconds, describe_tokens
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS

MAX_OPEN_LINES = 30
"""Lines of a specification that are shown; a longer one is folded."""

MAX_OPEN_FILES = 40
"""Rows of a table that are shown; a longer one is folded."""


def render_page(report: RunReport) -> str:
    """The page as one text."""
    parts = (_head, _asked, _done, _changed, _spent, _failed, _waiting)
    return render_document(f"Run {report.name}", (part(report) for part in parts))


def _head(report: RunReport) -> str:
    closed, left = len(report.closed_tasks), len(report.waiting.open_tasks)
    ended = f", ended {report.ended_at:%Y-%m-%d %H:%M} UTC" if report.ended_at else ""
    kind = "good" if report.why == "complete" else "active" if report.status == "active" else "bad"
    facts = (
        ("Tasks closed", f"{closed} of {closed + left}"),
        ("Known", html_text(report.count.describe() or "nothing")),
        ("Failed attempts", str(len(report.failures))),
        ("Driven for", describe_seconds(report.seconds)),
        ("Tokens", describe_tokens(report.total.tokens)),
        ("Cost", html_text(describe_cost(report.total.cost))),
        ("Waits for you", str(report.waiting.count)),
    )
    times = f'<p class="quiet">Started {report.started_at:%Y-%m-%d %H:%M} UTC{ended}</p>'
    return (
        f'<header><h1>Run {html_text(report.name)}</h1><p class="state {kind}">{html_text(report.state)}</p>'
        f"{times}{fact_cards(facts)}</header>"
    )


def _asked(report: RunReport) -> str:
    asked = report.asked
    if not asked.text:
        said = "<p>The open tasks of the project or of its feature, without a specification.</p>"
        return section("Asked", said)
    name = f"<p>{code(asked.file)}</p>" if asked.file else ""
    count = asked.text.count("\n") + 1
    text = f"<pre>{html_lines(asked.text)}</pre>"
    found = name + (fold(f"The specification, {count} lines", text) if count > MAX_OPEN_LINES else text)
    if asked.requirements:
        covered = len(asked.requirements) - len(asked.missing)
        rows = (
            (html_text(one.id), html_text(one.summary), " ".join(map(code, one.tasks)) or '<b class="bad">nothing</b>')
            for one in asked.requirements
        )
        covering = table(("Requirement", "What it asks", "Covered by"), rows)
        meter = f'<meter min="0" max="{len(asked.requirements)}" value="{covered}"></meter>'
        words = f"{covered} of {len(asked.requirements)} requirements are covered by tasks"
        found += f"<p>{meter} {words}.</p>" + _fold_long(covering, len(asked.requirements), "All requirements")
    return section("Asked", found)


def _done(report: RunReport) -> str:
    shown = [task for task in report.closed_tasks if task.is_proven]
    others = [task for task in report.closed_tasks if not task.is_proven]
    found = _closed(shown) if shown or not others else ""
    for level, title, words in UNPROVEN_PARTS:
        if some := [task for task in others if (task.level or "said") == level]:
            found += f"<h3>{title}</h3><p>{words}</p>{_closed(some)}"
    return section("Done", found)


def _closed(tasks: Sequence[ReportedTask]) -> str:
    items = "".join(
        f"<li><b>{html_text(task.title)}</b> {_facts(task)}{quote(task.closing)}{_proofs(task)}</li>" for task in tasks
    )
    return f'<ul class="entries">{items}</ul>' if items else "<p>No task is closed.</p>"


def _proofs(task: ReportedTask) -> str:
    """By whom a task was waived, what its agent ran, and what its checks said."""
    lines = [f"<li>waived by {html_text(one.waived_by)}: {html_text(one.reason)}</li>" for one in task.waivers]
    lines += [f"<li>{code(one.command)} ended with {one.exit_code}</li>" for one in task.observed]
    for one in task.checks:
        mark = '<b class="good">✓</b>' if one.has_passed else '<b class="bad">✗</b>'
        merged = ", as merged" if one.is_merged else ""
        place = f"at {code(one.commit[:SHORT_COMMIT_CHARACTERS])}{merged} ({code(one.id)})"
        lines.append(f"<li>{mark} check {code(one.name)}: {html_text(one.verdict)}, {place}</li>")
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _facts(task: ReportedTask) -> str:
    facts = [code(task.id), html_text(task.status), *([f"<b>{html_text(task.proof)}</b>"] if task.proof else [])]
    facts += [count(len(task.attempts), "attempt")]
    if task.spending is not None:
        facts += [describe_seconds(task.spending.seconds), f"cost {_cost(task.spending)}"]
    facts += [code(commit[:10]) for commit in task.commits]
    return f'<span class="quiet">{" · ".join(facts)}</span>'


def _changed(report: RunReport) -> str:
    changes = report.changes
    if changes.unknown:
        return section("Changed", f"<p>Not known here: {html_text(changes.unknown)}.</p>")
    number = len(changes.files) + changes.left_out
    branch = f", on the branch {code(changes.branch)}" if changes.branch else ""
    found = (
        f'<p>{count(number, "file")}, <span class="good">+{changes.insertions}</span> '
        f'<span class="bad">−{changes.deletions}</span>, {count(len(changes.commits), "commit")} '
        f"({code(changes.base[:10])} to {code(changes.head[:10])}{branch}).</p>"
    )
    if changes.commits:
        rows = ((code(one.id[:10]), html_text(one.title), code(one.task)) for one in changes.commits)
        found += _fold_long(table(("Commit", "Title", "Task"), rows), len(changes.commits), "All commits")
    if changes.files:
        counts = (
            (code(one.path), "binary" if one.insertions is None else f"+{one.insertions} −{one.deletions}")
            for one in changes.files
        )
        found += _fold_long(table(("File", "Lines"), counts), len(changes.files), "All files")
    if changes.left_out:
        found += f"<p>{changes.left_out} more files are not listed.</p>"
    if changes.uncommitted:
        names = "".join(f"<li>{code(name)}</li>" for name in changes.uncommitted)
        found += f"<p>Not committed, in the folder of the project:</p><ul>{names}</ul>"
    return section("Changed", found)


def _spent(report: RunReport) -> str:
    found = ""
    for heading, lines in (("Task", report.by_task), ("Agent", report.by_agent), ("Model", report.by_model)):
        if lines:
            rows = [(_line_name(line), *_amounts(line)) for line in lines]
            rows += [("<b>Total</b>", *_amounts(report.total))] if len(lines) > 1 else []
            found += table((heading, "Iterations", "Time", "Tokens", "Cost"), rows)
    for one in report.budget:
        meter = f'<meter min="0" max="1" high="0.9" value="{min(one.share, 1.0):.3f}"></meter>'
        found += f"<p>{meter} Budget: {html_text(describe_budget(one.kind, one.used, one.limit))} ({one.share:.0%})</p>"
    return section("Spent", found or "<p>Nothing.</p>")


def _line_name(line: SpendingLine) -> str:
    return f"{html_text(line.title)} {code(line.key)}" if line.title else html_text(line.key)


def _amounts(line: SpendingLine) -> tuple[str, ...]:
    return str(line.iterations), describe_seconds(line.seconds), describe_tokens(line.tokens), _cost(line)


def _cost(line: SpendingLine) -> str:
    return html_text(describe_cost(line.cost, iterations=line.iterations, reported=line.iterations_with_cost))


def _failed(report: RunReport) -> str:
    items = "".join(
        f"<li><b>{html_text(task.title)}</b> "
        f'<span class="quiet">{code(task.id)} · <span class="bad">{html_text(one.outcome)}</span> · '
        f"{one.started_at:%Y-%m-%d %H:%M} UTC · {describe_seconds(one.seconds)} · {html_text(one.agent)}</span>"
        f"{quote(one.reason)}</li>"
        for task, one in report.failures
    )
    return section("Failed", f'<ul class="entries">{items}</ul>' if items else "<p>No attempt failed.</p>")


def _waiting(report: RunReport) -> str:
    waiting = report.waiting
    items = [
        f"<b>Question</b> about {code(one.task_id)}{quote(one.text)}<p>{code(f'bn ask answer {one.id} TEXT')}</p>"
        for one in waiting.questions
    ]
    items += [
        f"<b>{html_text(one.kind)}</b> {html_text(one.title)}{quote(one.body)}"
        f"<p>{code(f'bn session answer {one.id} TEXT')}</p>"
        for one in waiting.attention
    ]
    items += [
        f'<b>Open task</b> {html_text(one.title)} <span class="quiet">{code(one.id)} · {html_text(one.status)}</span>'
        for one in waiting.open_tasks
    ]
    items += [
        f"<b>Not in your branch</b> {code(one.ref)} at {code(one.commit)}<p>{code(f'git log {one.ref}')}</p>"
        for one in waiting.refs
    ]
    return section("What waits for you", entries(items, empty="<p>Nothing.</p>"))


def _fold_long(content: str, rows: int, title: str) -> str:
    return fold(f"{title} ({rows})", content) if rows > MAX_OPEN_FILES else content
