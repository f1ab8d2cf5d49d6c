"""Views that several commands share."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from binnacle.cli.paging import say_how_many_more
from binnacle.cli.screen import Screen, mark_status
from binnacle.work.evidence import LEVEL_WORDS, describe_age
from binnacle.work.status import PRIORITIES
from binnacle.work.task import Brief


def task_table(tasks: Sequence[Brief], total: int, screen: Screen, *, empty: str, offset: int = 0) -> None:
    """A list of tasks; says what to do when there is none, and how many are not shown."""
    if not tasks:
        screen.line(empty)
        return
    has_covers = any(task.covers for task in tasks)
    rows = (
        (
            *(task.id, f"P{task.priority}", _status(task), task.title, task.feature or ""),
            *((", ".join(task.covers),) if has_covers else ()),
            _holder(task),
        )
        for task in tasks
    )
    headings = ("ID", "PRI", "STATUS", "TITLE", "FEATURE", *(("COVERS",) if has_covers else ()), "")
    screen.table(rows, flexible=3, headings=headings)
    say_how_many_more(len(tasks), total, screen, offset=offset)


def show_changed(
    task: Brief, screen: Screen, *, unblocked: Sequence[str] | None = None, warnings: Sequence[str] | None = None
) -> None:
    """What a change came to: the task's line, what it set free, and warnings."""
    screen.table([(task.id, _status(task), task.title)], flexible=2)
    if unblocked:
        screen.line(f"now ready: {', '.join(unblocked)}")
    for warning in warnings or ():
        screen.line(f"{screen.styled('warning:', 'yellow')} {warning}")


def fields(pairs: Sequence[tuple[str, Any]], screen: Screen) -> None:
    """Names and values below each other; empty ones are left out."""
    rows = [(f"{name}:", _text(value)) for name, value in pairs if value not in (None, "", (), [], {})]
    screen.table(rows, flexible=1)


def prose(title: str, text: str | Sequence[str], screen: Screen) -> None:
    """A part of several lines under a heading, if there is anything to say."""
    if not text:
        return
    screen.line()
    screen.heading(title)
    screen.block(text if isinstance(text, str) else "\n".join(f"- {item}" for item in text))


def ago(moment: datetime, *, now: datetime | None = None) -> str:
    """How long ago something was, in one unit."""
    return describe_age(moment, now=now or datetime.now(UTC))


def priority(number: int) -> str:
    """A priority with its name."""
    return f"{number} ({PRIORITIES[number]})"


def _status(task: Brief) -> str:
    waits = f" (waits for {task.waits_for})" if task.waits_for and task.status == "pending" else ""
    level = f" ({LEVEL_WORDS[task.level]})" if task.level else ""
    return f"{mark_status(task.status)}{waits}{level}"


def _holder(task: Brief) -> str:
    return f"@{task.claimed_by}" if task.claimed_by else "queued" if task.queued else ""


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC ({ago(value)})"
    if isinstance(value, (tuple, list)):
        return ", ".join(str(item) for item in value)
    return str(value)
