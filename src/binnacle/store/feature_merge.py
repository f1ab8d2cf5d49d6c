"""Merges two features."""

import msgspec

from binnacle.errors import Full, InvalidInput
from binnacle.store import features, learnings
from binnacle.store.transaction import Writer, stamp
from binnacle.work import learning as rules
from binnacle.work.feature import MAX_PROSE_CHARACTERS, Feature


def merge_features(tx: Writer, source: str, into: str) -> Feature:
    """Moves everything in `source` to `into` and deletes `source`."""
    old, new = features.get(tx, source), features.get(tx, into)
    if old.name == new.name:
        raise InvalidInput(f"a feature cannot be merged into itself: {old.name!r}", hint="name two features")
    moved = tx.run("update task set feature = ?, updated_at = ? where feature = ?", new.name, stamp(tx.now), old.name)
    _move_learnings(tx, old.name, new.name)
    for other in features.list_features(tx):
        if old.name in other.dependencies and other.name != old.name:
            kept = (name for name in other.dependencies if name != old.name)
            added = () if other.name == new.name else (new.name,)
            features.update(tx, other.name, {"dependencies": tuple(dict.fromkeys((*kept, *added)))})
    changes = {
        name: tuple(dict.fromkeys((*getattr(new, name), *getattr(old, name))))[:limit]
        for name, limit in (("context_files", 30), ("knowledge_paths", 10))
    }
    texts = {
        name: "\n\n".join(filter(None, (getattr(new, name), getattr(old, name))))[:MAX_PROSE_CHARACTERS]
        for name in ("description", "architecture", "boundaries")
    }
    features.update(tx, new.name, changes | texts)
    features.delete(tx, old.name)
    tx.record("feature", new.name, "merged", {"from": old.name, "tasks": moved})
    return features.get(tx, new.name)


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
