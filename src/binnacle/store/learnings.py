"""Learnings, per feature or for the whole project."""

from typing import Any

from binnacle.errors import NotFound
from binnacle.store import features, tasks
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work import learning as rules
from binnacle.work import steps
from binnacle.work.learning import AddedLearning, Learning, Source
from binnacle.work.task import NewTask
from binnacle.work.text import clean_name, fold

LEARNINGS = Table("learning", Learning, times=("created_at", "updated_at"), key=("id",))


def add(
    tx: Writer,
    text: str,
    *,
    feature: str | None = None,
    reason: str = "",
    source: Source | None = None,
    task: str | None = None,
    iteration: int | None = None,
) -> AddedLearning:
    """Adds a learning, or counts a known one, or replaces the one that it contradicts."""
    feature = features.get(tx, feature).name if feature else None
    new = Learning(
        id=fresh_id(tx, "learning", "bnl-"),
        feature=feature,
        text=text,
        reason=reason,
        source=source or ("agent" if tx.by.kind == "agent" else "human"),
        task_id=tasks.resolve(tx, task) if task else None,
        iteration=iteration,
        created_at=tx.now,
        updated_at=tx.now,
    )
    known = _learnings_of(tx, feature)
    added = rules.add(known, new)
    save_learning(tx, added)
    if feature and added.outcome == "added":
        _suggest_split(tx, feature, len(known) + 1 - len(added.pruned))
    return added


def save_learning(tx: Writer, added: AddedLearning) -> None:
    """Writes what the rules decided."""
    kept = added.learning
    columns = LEARNINGS.row(kept)
    for pruned in added.pruned:
        LEARNINGS.delete(tx, "id = ?", pruned)
        tx.record("learning", pruned, "pruned", {})
    if added.outcome == "added":
        LEARNINGS.insert(tx, [columns])
    else:
        del columns["id"]
        LEARNINGS.update(tx, columns, "id = ?", kept.id)
    said: dict[str, Any] = {"text": kept.text, "feature": kept.feature}
    tx.record("learning", kept.id, added.outcome, {**said, "was": added.was} if added.was else said)


def list_learnings(tx: Reader, *, feature: str | None = None, project_only: bool = False) -> list[Learning]:
    """The learnings of a feature, of the project itself, or all; most trustworthy first."""
    if feature:
        return rules.sort_by_trust(_learnings_of(tx, features.get(tx, feature).name))
    return rules.sort_by_trust(_learnings_of(tx, None) if project_only else LEARNINGS.select(tx, "order by number"))


def get(tx: Reader, learning_id: str) -> Learning:
    """The learning with this id."""
    found = LEARNINGS.first(tx, "where id = ?", learning_id.strip().casefold())
    if found is None:
        raise NotFound(f"no learning {learning_id!r}", hint=steps.LIST_LEARNINGS)
    return found


def review(tx: Writer, learning_id: str) -> Learning:
    """Marks a learning as checked: it is shown first and never pruned."""
    learning = get(tx, learning_id)
    LEARNINGS.update(tx, {"reviewed": True, "updated_at": tx.now}, "id = ?", learning.id)
    tx.record("learning", learning.id, "reviewed", {"text": learning.text})
    return get(tx, learning.id)


def delete(tx: Writer, learning_id: str) -> Learning:
    """Deletes a learning and returns it."""
    learning = get(tx, learning_id)
    LEARNINGS.delete(tx, "id = ?", learning.id)
    tx.record("learning", learning.id, "deleted", {"text": learning.text})
    return learning


def _learnings_of(tx: Reader, feature: str | None) -> list[Learning]:
    if feature is None:
        return LEARNINGS.select(tx, "where feature is null order by number")
    return LEARNINGS.select(tx, "where feature = ? order by number", clean_name(feature, what="feature"))


def _suggest_split(tx: Writer, feature: str, count: int) -> None:
    """Adds a task to split a feature that has too many learnings, once."""
    title = f"Split the feature {feature} into smaller ones"
    known = "select 1 from task where feature = ? and title_key = ?"
    if rules.saturation(count) != "critical" or tx.row(known, feature, fold(title)):
        return
    tasks.add(
        tx,
        [
            NewTask(
                title=title,
                description=f"{count} of {rules.MAX_LEARNINGS} learnings are in use; there is hardly room for more.",
                priority=1,
                feature=feature,
                tags=("auto-split", "system"),
                provenance="system",
            )
        ],
    )
