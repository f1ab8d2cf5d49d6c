"""Merges two features."""

import msgspec

from binnacle.errors import Duplicate, Full, InvalidInput
from binnacle.store import features, learnings, task_requirements
from binnacle.store.task_titles import WantedTitle, find_twins
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work import learning as rules
from binnacle.work import steps
from binnacle.work.acceptance import MAX_CHECKS
from binnacle.work.feature import MAX_PROSE_CHARACTERS, Feature


def merge_features(tx: Writer, source: str, into: str) -> Feature:
    """Moves everything in `source` to `into` and deletes `source`.

    Raises:
        Duplicate: an open task of each has nearly the same title.
        PersonNeeded: an agent would take tasks out of what a rule for reviews is about.
    """
    old, new = features.get(tx, source), features.get(tx, into)
    if old.name == new.name:
        raise InvalidInput(f"a feature cannot be merged into itself: {old.name!r}", hint="name two features")
    _check_titles(tx, old.name, new.name)
    task_requirements.check_feature_stays(tx, old.name, new.name)
    moved = tx.run("update task set feature = ?, updated_at = ? where feature = ?", new.name, stamp(tx.now), old.name)
    _move_learnings(tx, old.name, new.name)
    for other in features.list_features(tx):
        if old.name in other.dependencies and other.name != old.name:
            kept = (name for name in other.dependencies if name != old.name)
            added = () if other.name == new.name else (new.name,)
            features.update(tx, other.name, {"dependencies": tuple(dict.fromkeys((*kept, *added)))})
    changes = {
        name: tuple(dict.fromkeys((*getattr(new, name), *getattr(old, name))))[:limit]
        for name, limit in (("context_files", 30), ("knowledge_paths", 10), ("checks", MAX_CHECKS))
    }
    texts = {
        name: "\n\n".join(filter(None, (getattr(new, name), getattr(old, name))))[:MAX_PROSE_CHARACTERS]
        for name in ("description", "architecture", "boundaries")
    }
    features.update(tx, new.name, changes | texts)
    features.delete(tx, old.name)
    tx.record("feature", new.name, "merged", {"from": old.name, "tasks": moved})
    return features.get(tx, new.name)


def _check_titles(tx: Reader, source: str, into: str) -> None:
    """Refuses to bring two open tasks with one title together."""
    moved = tx.rows(
        "select id, title, title_sketch from task where feature = ? and status not in ('done', 'cancelled')", source
    )
    twins = find_twins(tx, [WantedTitle(title, into, sketch) for _, title, sketch in moved])
    for place, twin in twins.items():
        if twin.task_id:  # two of the same feature were told apart when they were made
            raise Duplicate(
                f"{moved[place][0]} of {source!r} and {twin.task_id} of {into!r} have nearly the same title: "
                f"{twin.title!r}",
                hint=(steps.cancel(moved[place][0]), "or change its title"),
                details={"existing": twin.task_id},
            )


def _move_learnings(tx: Writer, source: str, into: str) -> None:
    """Adds the learnings of `source` to `into` by the usual rules; those that do not fit are dropped."""
    for learning in learnings.list_learnings(tx, feature=source):
        learnings.LEARNINGS.delete(tx, "id = ?", learning.id)
        target = learnings.LEARNINGS.select(tx, "where feature = ? order by number", into)
        try:
            added = rules.add(target, msgspec.structs.replace(learning, feature=into))
        except Full:
            tx.record("learning", learning.id, "pruned", {"text": learning.text})
            continue
        learnings.save_learning(tx, added)
