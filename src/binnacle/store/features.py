"""Features and disciplines: two tables of named entities with shared functions."""

from collections.abc import Mapping
from typing import Any

from binnacle.errors import Cycle, Duplicate, Hint, NextStep, PersonNeeded, Referenced
from binnacle.store.feature_names import Sort, check_exist, list_names, raise_missing
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.feature import (
    DISCIPLINE_FIELDS,
    FEATURE_FIELDS,
    Discipline,
    Feature,
    change_discipline,
    change_feature,
    check_is_new,
    derive_acronym,
)
from binnacle.work.graph import find_cycle
from binnacle.work.text import clean_name

FEATURES = Table(
    "feature",
    Feature,
    json=("knowledge_paths", "context_files", "dependencies", "checks"),
    times=("created_at", "updated_at"),
)
DISCIPLINES = Table(
    "discipline", Discipline, json=("skills", "upstreams", "denied_tools"), times=("created_at", "updated_at")
)


def list_features(tx: Reader) -> list[Feature]:
    """All features by name."""
    return FEATURES.select(tx, "order by name")


def list_disciplines(tx: Reader) -> list[Discipline]:
    """All disciplines by name."""
    return DISCIPLINES.select(tx, "order by name")


def get(tx: Reader, name: str) -> Feature:
    """The feature called `name`; the error names the nearest one."""
    found = FEATURES.first(tx, "where name = ?", clean_name(name, what="feature"))
    return found or raise_missing(tx, "feature", name)


def get_discipline(tx: Reader, name: str) -> Discipline:
    """The discipline called `name`; the error names the nearest one."""
    found = DISCIPLINES.first(tx, "where name = ?", clean_name(name, what="discipline"))
    return found or raise_missing(tx, "discipline", name)


def add(tx: Writer, name: str, fields: Mapping[str, Any], *, force: bool = False) -> Feature:
    """Creates a feature. A name similar to an existing one is refused unless forced."""
    name = _check_new_name(tx, "feature", name, fields, force=force)
    blank = Feature(name=name, title=name, acronym="XXXX", created_at=tx.now, updated_at=tx.now)
    feature = change_feature(blank, _add_defaults(tx, "feature", name, fields))
    _check_dependencies(tx, feature)
    _insert(tx, "feature", FEATURES, feature)
    return feature


def add_discipline(tx: Writer, name: str, fields: Mapping[str, Any], *, force: bool = False) -> Discipline:
    """Creates a discipline. A name similar to an existing one is refused unless forced."""
    name = _check_new_name(tx, "discipline", name, fields, force=force)
    blank = Discipline(name=name, title=name, acronym="XXXX", created_at=tx.now, updated_at=tx.now)
    discipline = change_discipline(blank, _add_defaults(tx, "discipline", name, fields))
    _insert(tx, "discipline", DISCIPLINES, discipline)
    return discipline


def update(tx: Writer, name: str, changes: Mapping[str, Any]) -> Feature:
    """Changes a feature. No change is not an error."""
    feature = get(tx, name)
    changed = change_feature(feature, changes)
    _check_checks_stay(tx, feature, changed)
    _check_dependencies(tx, changed)
    _save(tx, "feature", FEATURES, feature, changed)
    return get(tx, feature.name)


def update_discipline(tx: Writer, name: str, changes: Mapping[str, Any]) -> Discipline:
    """Changes a discipline. No change is not an error."""
    discipline = get_discipline(tx, name)
    _save(tx, "discipline", DISCIPLINES, discipline, change_discipline(discipline, changes))
    return get_discipline(tx, discipline.name)


def delete(tx: Writer, name: str) -> Feature:
    """Deletes a feature that nothing refers to; its learnings count as references."""
    feature = get(tx, name)
    referrers = [f"task {row[0]}" for row in tx.rows("select id from task where feature = ? limit 6", feature.name)]
    referrers += [f"feature {other.name}" for other in list_features(tx) if feature.name in other.dependencies]
    learnings = tx.count("select count(*) from learning where feature = ?", feature.name)
    referrers += [f"{learnings} learning(s)"] if learnings else []
    _remove(tx, "feature", feature.name, referrers, hint=steps.merge_feature(feature.name))
    return feature


def delete_discipline(tx: Writer, name: str) -> Discipline:
    """Deletes a discipline that no task and no active session refers to."""
    discipline = get_discipline(tx, name)
    rows = tx.rows("select id from task where discipline = ? limit 6", discipline.name)
    active = tx.rows("select id from session where discipline = ? and status = 'active' limit 6", discipline.name)
    _remove(
        tx,
        "discipline",
        discipline.name,
        [*(f"task {row[0]}" for row in rows), *(f"session {row[0]}" for row in active)],
        hint="give those tasks another discipline" if rows else "wait until it has ended",
    )
    return discipline


def _check_new_name(tx: Reader, sort: Sort, name: str, fields: Mapping[str, Any], *, force: bool) -> str:
    name = clean_name(name, what=sort)
    check_is_new(name, list_names(tx, sort), what=sort, force=force)
    acronym = str(fields.get("acronym") or "").strip().upper()
    owner = tx.row(f"select name from {sort} where acronym = ?", acronym)
    if owner:
        raise Duplicate(f"the acronym {acronym} belongs to {owner[0]!r}", hint="leave it out to get a free one")
    return name


def _add_defaults(tx: Reader, sort: Sort, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in fields.items() if value is not None}
    if not given.get("acronym"):
        given["acronym"] = derive_acronym(name, {row[0] for row in tx.rows(f"select acronym from {sort}")})
    if not given.get("title"):
        given["title"] = name.replace("-", " ").replace("_", " ").capitalize()
    return given


def _check_checks_stay(tx: Writer, old: Feature, new: Feature) -> None:
    """Refuses an agent that takes away what the tasks of a feature have to prove."""
    lost = [name for name in old.checks if name not in new.checks]
    if lost and tx.is_by_agent:
        step = NextStep("change it", f"feature update {old.name}", for_person=True)
        raise PersonNeeded(f"only a person may take checks from a feature: {', '.join(lost)}", hint=step)


def _check_dependencies(tx: Reader, feature: Feature) -> None:
    check_exist(tx, "feature", feature.dependencies)
    graph = {other.name: other.dependencies for other in list_features(tx)}
    for name in feature.dependencies:
        circle = find_cycle(feature.name, name, lambda names: {n: graph.get(n, ()) for n in names})
        if circle:
            raise Cycle(f"features would depend on each other in a cycle: {' → '.join(circle)}", hint="leave one out")


def _insert(tx: Writer, sort: Sort, table: Table[Any], entry: Feature | Discipline) -> None:
    table.insert(tx, [table.row(entry)])
    tx.record(sort, entry.name, "added", {"title": entry.title})


def _save(tx: Writer, sort: Sort, table: Table[Any], old: Feature | Discipline, new: Feature | Discipline) -> None:
    names = FEATURE_FIELDS if sort == "feature" else DISCIPLINE_FIELDS
    changes = {name: getattr(new, name) for name in names if getattr(new, name) != getattr(old, name)}
    if not changes:
        return
    if "acronym" in changes:
        owner = tx.row(f"select name from {sort} where acronym = ?", new.acronym)
        if owner:
            raise Duplicate(f"the acronym {new.acronym} belongs to {owner[0]!r}", hint="choose another")
    table.update(tx, {**changes, "updated_at": tx.now}, "name = ?", old.name)
    tx.record(sort, old.name, "updated", {name: [getattr(old, name), value] for name, value in changes.items()})


def _remove(tx: Writer, sort: Sort, name: str, referrers: list[str], *, hint: Hint) -> None:
    if referrers:
        raise Referenced(
            f"{sort} {name!r} is still referred to by {', '.join(referrers[:5])}",
            hint=hint,
            details={"referrers": referrers},
        )
    tx.run(f"delete from {sort} where name = ?", name)
    tx.record(sort, name, "deleted", {})
