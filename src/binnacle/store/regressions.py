"""Regressions: a closed task that no longer holds is opened again, or another task is opened for it.

Which commit broke it is found elsewhere (`proving.regressions`). In a run, a task is opened again only so often; then a
person has to look.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from binnacle.errors import Duplicate
from binnacle.store import comments, events, questions, task_moves, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.work.regression import Regression, describe_regression, title_of_regression
from binnacle.work.report import MAX_WORDS_CHARACTERS
from binnacle.work.status import is_closed
from binnacle.work.task import NewTask, Task

HIGH = 1
"""The priority of a task for a regression."""

RegressionMove = Literal["reopened", "handed over", "added", "noted"]
"""`handed over`: to a person; `added`: another task was opened; `noted`: nothing was opened, because a task is open."""


class OpenedTask(NamedTuple):
    """The task by which regressions are to be fixed."""

    task: Task
    how: RegressionMove


def reopen(
    tx: Writer, found: Sequence[Regression], *, feature: str | None = None, max_times: int | None = None
) -> OpenedTask:
    """Opens the task of these regressions again, with a comment that says what broke; all are of one task.

    If it cannot be opened, because it is gone, cancelled or its title belongs to another task by now, or if they are
    of no task, another task is opened, by default for `feature`. After `max_times` since a person last looked, a person
    has to look.
    """
    first = found[0]
    said = "\n\n".join(map(describe_regression, found))
    task = tasks.TASKS.first(tx, "where id = ?", first.task_id) if first.task_id else None
    if task is None or task.status == "cancelled":
        return _add(tx, found, said, feature if task is None else task.feature)
    if not is_closed(task.status):
        return OpenedTask(task, "noted")
    times = count_reopened(tx, task.id)
    try:
        moved = task_moves.reopen(tx, task.id, force=True).task
    except Duplicate:
        return _add(tx, found, said, task.feature)
    comments.add(tx, task.id, f"No longer done: {said}")
    tx.record("task", task.id, "regressed", _describe_event(first))
    if max_times is None or times < max_times:
        return OpenedTask(moved, "reopened")
    asked = f"it was done and broken again {times + 1} times. The last time: {said}"
    questions.ask(tx, task.id, asked[:MAX_WORDS_CHARACTERS], blocking=True, kind="stuck")
    return OpenedTask(task_moves.set_status(tx, task.id, "needs_input", force=True).task, "handed over")


def count_reopened(tx: Reader, task_id: str) -> int:
    """How often a task was opened again because of a regression since a person last looked at it."""
    return tx.count(
        "select count(*) from event where entity = 'task' and entity_id = ? and action = 'regressed' and at > ?",
        task_id,
        events.find_last_look(tx, task_id),
    )


def _add(tx: Writer, found: Sequence[Regression], said: str, feature: str | None) -> OpenedTask:
    """Opens a task for regressions, or comments on the one that is open for them."""
    draft = NewTask(
        title=title_of_regression(found[0]),
        description=said,
        kind="bug",
        priority=HIGH,
        feature=feature,
        checks=tuple(dict.fromkeys(one.check for one in found)),
        provenance="human" if tx.by.kind == "human" else "system",
    )
    try:
        (added,) = tasks.add(tx, [draft])
    except Duplicate as error:
        known = tasks.get(tx, str(error.details["existing"]))
        comments.add(tx, known.id, said)
        return OpenedTask(known, "noted")
    tx.record("task", added.id, "regressed", _describe_event(found[0]))
    return OpenedTask(added, "added")


def _describe_event(one: Regression) -> dict[str, str]:
    culprit = one.search.culprit
    said = {
        "check": one.check,
        "at_commit": one.commit,
        "culprit": culprit.commit if culprit is not None else "",
        "broken_by": culprit.task if culprit is not None else "",
        "reason": one.reason,
    }
    return {name: value for name, value in said.items() if value}
