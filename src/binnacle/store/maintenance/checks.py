"""Finds errors in a store, and fixes what can be derived from other data."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from msgspec import Struct

from binnacle.store import dependencies, features, lapsed_claims, queue, queue_ranks
from binnacle.store.store import Store
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work.actor import SYSTEM
from binnacle.work.graph import find_cycle


class StoreFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem in a store."""

    severity: Literal["error", "warning", "info"]
    check: str
    message: str
    fixable: bool = False
    """Whether `bn doctor --fix` fixes it."""

    fixed: bool = False
    hint: str = ""


class StoreCheck(NamedTuple):
    """One thing to check, and how to fix it."""

    name: str
    find: Callable[[Reader], list[str]]
    """Returns one message per problem."""

    fix: Callable[[Writer], object] | None = None
    severity: Literal["error", "warning", "info"] = "error"
    hint: str = ""


def check_store(store: Store, *, fix: bool = False) -> list[StoreFinding]:
    """Runs every check; with `fix`, fixes what can be fixed."""
    findings: list[StoreFinding] = []
    for check in CHECKS:
        with store.read() as tx:
            messages = check.find(tx)
        if not messages:
            continue
        is_fixed = False
        if fix and check.fix is not None:
            with store.write(by=SYSTEM) as writer:
                check.fix(writer)
                is_fixed = not check.find(writer)
                writer.record("store", "store", "mended", {"check": check.name, "found": len(messages)})
        findings += [
            StoreFinding(
                severity=check.severity,
                check=check.name,
                message=message,
                fixable=check.fix is not None,
                fixed=is_fixed,
                hint=check.hint if check.fix is None else "" if is_fixed else "bn doctor --fix",
            )
            for message in messages
        ]
    return findings


def _find_damage(tx: Reader) -> list[str]:
    if tx.dialect.name != "sqlite":
        return []
    said = [str(row[0]) for row in tx.rows("pragma integrity_check(20)")]
    broken = [f"{row[0]} row {row[1]} refers to a missing {row[2]}" for row in tx.rows("pragma foreign_key_check")]
    return [f"the file is damaged: {message}" for message in said if message != "ok"] + broken


_OPEN = (
    "(select count(*) from dependency d join task t on t.id = d.depends_on "
    "where d.task_id = task.id and t.status not in ('done', 'cancelled'))"
)


def _find_wrong_counts(tx: Reader) -> list[str]:
    rows = tx.rows(f"select id, open_dependencies, {_OPEN} from task where open_dependencies <> {_OPEN} limit 20")
    return [f"{row[0]} says it waits for {row[1]} open task(s), but it waits for {row[2]}" for row in rows]


def _fix_counts(tx: Writer) -> None:
    rows = tx.rows(f"select id from task where open_dependencies <> {_OPEN}")
    dependencies.recount(tx, [row[0] for row in rows])


def _find_wrong_claims(tx: Reader) -> list[str]:
    rows = tx.rows(
        "select id, status, claimed_by from task where (status = 'in_progress' and claimed_by is null) "
        "or (status <> 'in_progress' and claimed_by is not null) limit 20"
    )
    return [f"{row[0]} is {row[1]} and held by {row[2] or 'nobody'}" for row in rows]


def _fix_claims(tx: Writer) -> None:
    tx.run("update task set status = 'pending' where status = 'in_progress' and claimed_by is null")
    tx.run("update task set claimed_by = null, claim_expires_at = null where status <> 'in_progress'")


def _find_lapsed(tx: Reader) -> list[str]:
    rows = tx.rows(
        "select id, claimed_by from task where claim_expires_at <= ? and status = 'in_progress' limit 20", stamp(tx.now)
    )
    return [f"the claim of {row[1]} on {row[0]} has lapsed" for row in rows]


def _find_wrong_queue(tx: Reader) -> list[str]:
    closed = tx.rows(
        "select id, status from task where queue_position is not null and status in ('done', 'cancelled') limit 20"
    )
    ranked = tx.rows(
        f"select id from task where queue_rank <> {queue_ranks.UNQUEUED_RANK} "
        "and queue_position is null and parent is null limit 20"
    )
    return [f"{row[0]} is {row[1]} and still queued" for row in closed] + [
        f"{row[0]} is ranked as if it were queued" for row in ranked
    ]


def _fix_queue(tx: Writer) -> None:
    tx.run("update task set queue_position = null where status in ('done', 'cancelled')")
    tx.run("update task set queue_rank = ?", queue_ranks.UNQUEUED_RANK)
    queue_ranks.refresh_ranks(tx, [task.id for task in queue.list_queue(tx)])


def _find_cycles(tx: Reader) -> list[str]:
    """Every cycle of dependencies. Tasks that cannot be in a cycle are removed from the graph first."""
    edges: dict[str, list[str]] = {}
    for task_id, on in tx.rows("select task_id, depends_on from dependency"):
        edges.setdefault(task_id, []).append(on)
    while True:
        inner = {task_id: [on for on in ons if on in edges] for task_id, ons in edges.items()}
        inner = {task_id: ons for task_id, ons in inner.items() if ons}
        if inner.keys() == edges.keys():
            break
        edges = inner
    found: dict[frozenset[str], list[str]] = {}
    for task_id, ons in list(edges.items())[:50]:
        for on in ons:
            circle = find_cycle(task_id, on, lambda ids: {one: edges.get(one, ()) for one in ids})
            if circle:
                found.setdefault(frozenset(circle), circle)
    return [f"tasks wait for each other in a cycle: {' → '.join(circle)}" for circle in found.values()]


_INDEXED = {
    "task": "title, description, hints, tags",
    "comment": "body",
    "note": "content",
    "learning": "text, reason",
}
"""The columns in the search index: a change of one of them updates the index."""


def _find_index_gaps(tx: Reader) -> list[str]:
    found = []
    for name in _INDEXED:
        there = tx.count(f"select count(*) from {name}")
        indexed = tx.count("select count(*) from search where entity = ?", name)
        if there != indexed:
            found.append(f"the search index knows {indexed} of {there} {name}s")
    return found


def _fix_index(tx: Writer) -> None:
    tx.run("delete from search")
    for name, columns in _INDEXED.items():
        column = columns.split(", ", maxsplit=1)[0]
        if name == "note":
            _reinsert_notes(tx)
        else:
            tx.run(f"update {name} set {column} = {column}")


def _reinsert_notes(tx: Writer) -> None:
    """Deletes all notes and inserts them again: notes have no update trigger that would index them."""
    rows = tx.rows("select number, id, type, content, session, iteration, author, created_at from note order by number")
    tx.run("delete from note")
    tx.run_many(
        "insert into note (number, id, type, content, session, iteration, author, created_at) "
        "values (?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def _find_missing_features(tx: Reader) -> list[str]:
    found = features.list_features(tx)
    names = {feature.name for feature in found}
    return [
        f"feature {feature.name} builds on {name}, which does not exist"
        for feature in found
        for name in feature.dependencies
        if name not in names
    ]


def _find_unknown_levels(tx: Reader) -> list[str]:
    """Tasks whose level does not go with their status."""
    wrong = "(status = 'done' and evidence_level = '') or (status <> 'done' and evidence_level <> '')"
    rows = tx.rows(f"select id, status, evidence_level from task where {wrong} limit 20")
    return [f"{row[0]} is {row[1]}, and its level is {row[2] or 'missing'}" for row in rows]


def _fix_levels(tx: Writer) -> None:
    tx.run("update task set evidence_level = 'said' where status = 'done' and evidence_level = ''")
    tx.run(
        "update task set evidence_level = '', evidence_commit = '', evidence_at = null "
        "where status <> 'done' and evidence_level <> ''"
    )


def _find_missing_evidence(tx: Reader) -> list[str]:
    """Tasks that say that they were proven, without what proves it."""
    rows = tx.rows(
        "select id, evidence_level, evidence_commit from task where status = 'done' and ("
        "(evidence_level in ('checked', 'merged') and not exists (select 1 from evidence e "
        "where e.commit_id = task.evidence_commit and e.verdict = 'pass')) or "
        "(evidence_level = 'waived' and not exists (select 1 from waiver w where w.task_id = task.id)) or "
        "(evidence_level = 'accepted' and not exists (select 1 from review_verdict v where v.task_id = task.id "
        "and v.decision = 'accept'))) limit 20"
    )
    return [f"{row[0]} says {row[1]}{f' at {row[2][:8]}' if row[2] else ''}, and nothing shows it" for row in rows]


def _find_lost_reviews(tx: Reader) -> list[str]:
    """Reviews that are open although their tasks do not wait for them."""
    rows = tx.rows(
        "select r.id, t.id, t.status from review r join task t on t.id = r.task_id "
        "where r.status = 'open' and t.status in ('done', 'cancelled') limit 20"
    )
    return [f"review {row[0]} is open, and {row[1]} is {row[2]}" for row in rows]


def _fix_reviews(tx: Writer) -> None:
    closed = "task_id in (select id from task where status in ('done', 'cancelled'))"
    tx.run(f"update review set status = 'withdrawn', ended_at = ? where status = 'open' and {closed}", stamp(tx.now))


CHECKS = (
    StoreCheck("integrity", _find_damage, hint="'bn store export' what can be read, then move the file away"),
    StoreCheck("dependency counts", _find_wrong_counts, _fix_counts),
    StoreCheck("claims", _find_wrong_claims, _fix_claims),
    StoreCheck("lapsed claims", _find_lapsed, lapsed_claims.release_lapsed, severity="info"),
    StoreCheck("queue", _find_wrong_queue, _fix_queue, severity="warning"),
    StoreCheck("evidence levels", _find_unknown_levels, _fix_levels, severity="warning"),
    StoreCheck("evidence", _find_missing_evidence, hint="look at it, then: bn task reopen ID"),
    StoreCheck("reviews", _find_lost_reviews, _fix_reviews, severity="warning"),
    StoreCheck("circles", _find_cycles, hint="remove one of them with: bn task dep rm"),
    StoreCheck("search index", _find_index_gaps, _fix_index),
    StoreCheck(
        "features", _find_missing_features, severity="warning", hint="fix it with: bn feature update NAME --needs …"
    ),
)
"""In this order: later checks rely on the fixes of earlier ones."""
