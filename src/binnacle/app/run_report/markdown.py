"""The run report as Markdown, for a terminal, a file or a pull request."""

from collections.abc import Iterable, Sequence

from binnacle.app.run_report.hostile_text import clean_lines, markdown, markdown_block, markdown_code
from binnacle.app.run_report.values import UNPROVEN_PARTS, ReportedTask, RunReport
from binnacle.store.views.spending import SpendingLine
from binnacle.work.amounts import count, describe_budget, describe_cost, describe_seconds, describe_tokens
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS

MAX_OPEN_LINES = 30
"""Lines of a specification that are shown; a longer one is folded."""


def render_markdown(report: RunReport) -> str:
    """The report as one text that ends with a newline."""
    parts = [
        _head(report),
        _asked(report),
        _done(report),
        _changed(report),
        _spent(report),
        _failed(report),
        _waiting(report),
    ]
    return "\n".join(line for part in parts if part for line in (*part, ""))


def _head(report: RunReport) -> list[str]:
    ended = f", ended {report.ended_at:%Y-%m-%d %H:%M} UTC" if report.ended_at else ""
    waits = report.waiting.count
    return [
        f"# Run {markdown(report.name)}",
        "",
        f"**{markdown(report.state)}**",
        "",
        f"- Started {report.started_at:%Y-%m-%d %H:%M} UTC{ended}, driven for {describe_seconds(report.seconds)}",
        f"- Tasks: {report.count.describe() or 'none closed'}; {len(report.waiting.open_tasks)} open",
        f"- Failed attempts: {len(report.failures)}",
        f"- Cost: {_cost(report.total)}; tokens: {describe_tokens(report.total.tokens)}",
        *([f"- **Waits for you: {waits}**, at the end of this report"] if waits else []),
    ]


def _asked(report: RunReport) -> list[str]:
    asked = report.asked
    if not asked.text:
        return ["## Asked", "", "The open tasks of the project or of its feature, without a specification."]
    lines = markdown_block(asked.text)
    is_long = len(lines) > MAX_OPEN_LINES + 2
    name = markdown_code(asked.file) if asked.file else "The specification"
    found = ["## Asked", "", f"{name}:", ""]
    found += ["<details>", f"<summary>{len(lines) - 2} lines</summary>", ""] if is_long else []
    found += [*lines, *(["", "</details>"] if is_long else [])]
    if asked.requirements:
        total = len(asked.requirements)
        found += ["", f"{total - len(asked.missing)} of {total} requirements are covered by tasks:", ""]
        rows = (
            (markdown(one.id), markdown(one.summary), ", ".join(map(markdown_code, one.tasks)) or "**nothing**")
            for one in asked.requirements
        )
        found += _table(("Requirement", "What it asks", "Covered by"), rows)
    return found


def _done(report: RunReport) -> list[str]:
    found = ["## Done", ""]
    if not report.closed_tasks:
        return [*found, "No task is closed."]
    found += [line for task in report.closed_tasks if task.is_proven for line in _closed(task)]
    for level, title, words in UNPROVEN_PARTS:
        if some := [task for task in report.closed_tasks if not task.is_proven and (task.level or "said") == level]:
            found += [*([""] if found[-1] else []), f"### {title}", "", words, ""]
            found += [line for task in some for line in _closed(task)]
    return found


def _closed(task: ReportedTask) -> list[str]:
    found = [f"- **{markdown(task.title)}** ({markdown_code(task.id)}): {_facts(task)}", *_quote(task.closing)]
    found += [f"  - waived by {markdown(one.waived_by)}: {markdown(one.reason)}" for one in task.waivers]
    found += [f"  - {markdown_code(one.command)} ended with {one.exit_code}" for one in task.observed]
    for one in task.checks:
        mark, merged = "✓" if one.has_passed else "✗", ", as merged" if one.is_merged else ""
        place = f"at {markdown_code(one.commit[:SHORT_COMMIT_CHARACTERS])}{merged} ({markdown_code(one.id)})"
        found.append(f"  - {mark} check {markdown_code(one.name)}: {markdown(one.verdict)}, {place}")
    return found


def _facts(task: ReportedTask) -> str:
    facts = [task.status, *([f"**{task.proof}**"] if task.proof else [])]
    facts += [count(len(task.attempts), "attempt")]
    if task.spending is not None:
        facts += [describe_seconds(task.spending.seconds), f"cost {_cost(task.spending)}"]
    if task.commits:
        facts.append(" ".join(markdown_code(commit[:10]) for commit in task.commits))
    return ", ".join(facts)


def _quote(text: str) -> list[str]:
    """Text below an entry of a list, with its lines."""
    lines = [markdown(line) for line in clean_lines(text) if line.strip()]
    last = len(lines)
    return [f"  > {line}" if number == last else f"  > {line}\\" for number, line in enumerate(lines, 1)]


def _changed(report: RunReport) -> list[str]:
    changes = report.changes
    found = ["## Changed", ""]
    if changes.unknown:
        return [*found, f"Not known here: {markdown(changes.unknown)}."]
    number = len(changes.files) + changes.left_out
    branch = f", on the branch {markdown_code(changes.branch)}" if changes.branch else ""
    ends = f"{markdown_code(changes.base[:10])} to {markdown_code(changes.head[:10])}"
    found.append(
        f"{count(number, 'file')}, {count(changes.insertions, 'insertion')}, {count(changes.deletions, 'deletion')}, "
        f"{count(len(changes.commits), 'commit')} ({ends}{branch})."
    )
    if changes.commits:
        rows = ((markdown_code(one.id[:10]), markdown(one.title), markdown_code(one.task)) for one in changes.commits)
        found += ["", *_table(("Commit", "Title", "Task"), rows)]
    if changes.files:
        counts = ((markdown_code(one.path), _lines(one.insertions), _lines(one.deletions)) for one in changes.files)
        found += ["", *_table(("File", "Insertions", "Deletions"), counts)]
    if changes.left_out:
        found += ["", f"{changes.left_out} more files are not listed."]
    if changes.uncommitted:
        found += ["", "Not committed, in the folder of the project:", ""]
        found += [f"- {markdown_code(name)}" for name in changes.uncommitted]
    return found


def _lines(count: int | None) -> str:
    return "binary" if count is None else str(count)


def _spent(report: RunReport) -> list[str]:
    found = ["## Spent", ""]
    for heading, lines in (
        ("Task", [(_task_name(one), one) for one in report.by_task]),
        ("Agent", [(markdown(one.key), one) for one in report.by_agent]),
        ("Model", [(markdown(one.key), one) for one in report.by_model]),
    ):
        if lines:
            total = [("**Total**", report.total)] if len(lines) > 1 else []
            rows = [(name, *_amounts(line)) for name, line in (*lines, *total)]
            found += [*_table((heading, "Iterations", "Time", "Tokens", "Cost"), rows), ""]
    found += [f"- Budget: {describe_budget(one.kind, one.used, one.limit)} ({one.share:.0%})" for one in report.budget]
    return found if found[-1] else found[:-1]


def _task_name(line: SpendingLine) -> str:
    return f"{markdown(line.title)} ({markdown_code(line.key)})" if line.title else markdown(line.key)


def _amounts(line: SpendingLine) -> tuple[str, ...]:
    return str(line.iterations), describe_seconds(line.seconds), describe_tokens(line.tokens), _cost(line)


def _cost(line: SpendingLine) -> str:
    return markdown(describe_cost(line.cost, iterations=line.iterations, reported=line.iterations_with_cost))


def _failed(report: RunReport) -> list[str]:
    if not report.failures:
        return ["## Failed", "", "No attempt failed."]
    found = ["## Failed", ""]
    for task, one in report.failures:
        agent = f", {markdown(one.agent)}" if one.agent else ""
        found.append(
            f"- **{markdown(task.title)}** ({markdown_code(task.id)}): {one.outcome}, "
            f"{one.started_at:%Y-%m-%d %H:%M} UTC, {describe_seconds(one.seconds)}{agent}"
        )
        found += _quote(one.reason)
    return found


def _waiting(report: RunReport) -> list[str]:
    waiting = report.waiting
    found = ["## What waits for you", ""]
    if not waiting.count:
        return [*found, "Nothing."]
    for question in waiting.questions:
        answer = markdown_code(f"bn ask answer {question.id} TEXT")
        found.append(f"- Question about {markdown_code(question.task_id)}; answer it with {answer}")
        found += _quote(question.text)
    for one in waiting.attention:
        answer = markdown_code(f"bn session answer {one.id} TEXT")
        found.append(f"- {one.kind}: {markdown(one.title)}; answer it with {answer}")
        found += _quote(one.body)
    found += [f"- Open task {markdown_code(one.id)}, {one.status}: {markdown(one.title)}" for one in waiting.open_tasks]
    for kept in waiting.refs:
        see = markdown_code(f"git log {kept.ref}")
        found.append(f"- Not in your branch: {markdown_code(kept.ref)} at {markdown_code(kept.commit)}; see {see}")
    return found


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    marks = ["---" if number < 2 else "---:" for number, _ in enumerate(headings)] if len(headings) > 3 else None
    lines = [headings, marks or ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
