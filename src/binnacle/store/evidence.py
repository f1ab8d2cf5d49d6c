"""Results of checks. Only Binnacle itself adds them: no tool and no command takes one as input."""

from collections.abc import Collection

import msgspec

from binnacle.errors import NotFound
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table, placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.evidence import EVIDENCE_PREFIX, MAX_KEPT_IDS, Evidence

EVIDENCE = Table(
    "evidence",
    Evidence,
    json=("passed", "failed", "new_failed", "old_failed", "flaky", "findings"),
    times=("created_at",),
    key=("id",),
)
MAX_EXCERPT_CHARACTERS = 8000

TREES_PER_STATEMENT = 500

MAX_PASSES = 200
"""Results of one commit that are looked at: many more than a project has checks."""

_IDS = ("passed", "failed", "new_failed", "old_failed", "flaky", "findings")


def add(tx: Writer, evidence: Evidence) -> Evidence:
    """Keeps a result under a new id and the time of the transaction."""
    cut = {name: getattr(evidence, name)[:MAX_KEPT_IDS] for name in _IDS}
    kept = msgspec.structs.replace(
        evidence, id=fresh_id(tx, "evidence", EVIDENCE_PREFIX), created_at=tx.now, reason=evidence.reason[:2000], **cut
    )
    EVIDENCE.insert(tx, [EVIDENCE.row(kept)])
    said = {"check": kept.check_name, "verdict": kept.verdict, "commit": kept.commit_id, "task": kept.task_id}
    tx.record("evidence", kept.id, "checked", {name: value for name, value in said.items() if value})
    return get(tx, kept.id)


def get(tx: Reader, evidence_id: str) -> Evidence:
    """The result with this id."""
    found = EVIDENCE.first(tx, "where id = ?", evidence_id)
    if found is None:
        raise NotFound(f"no evidence {evidence_id!r}", hint=steps.LIST_TASKS)
    return found


def get_many(tx: Reader, ids: Collection[str]) -> list[Evidence]:
    """The results with these ids, as far as they exist, oldest first."""
    wanted = list(ids)
    if not wanted:
        return []
    return EVIDENCE.select(tx, f"where id in {placeholders(wanted)} order by number", *wanted)


def find(
    tx: Reader, *, tree: str, base: str, definition: str, environment: str, is_bug: bool = False
) -> Evidence | None:
    """The newest result of a check, exactly as defined, for a change and in an environment."""
    where = "where tree = ? and definition = ? and base = ? and environment = ? and is_bug = ? order by number desc"
    return EVIDENCE.first(tx, where, tree, definition, base, environment, int(is_bug))


def find_of_tree(tx: Reader, *, tree: str, definition: str, environment: str) -> Evidence | None:
    """The newest result that says whether a tree as it is passes a check, whatever it was compared with.

    A change can fail for what it does to tests; then its tree may still pass. So of failures, only those count that are
    about a tree alone.
    """
    where = (
        "where tree = ? and definition = ? and environment = ? "
        "and (verdict = 'pass' or (verdict = 'fail' and base = commit_id)) order by number desc"
    )
    return EVIDENCE.first(tx, where, tree, definition, environment)


def find_passing_trees(tx: Reader, *, definition: str, environment: str, trees: Collection[str]) -> set[str]:
    """Those of some trees that passed a check."""
    wanted, found = list(trees), set[str]()
    for start in range(0, len(wanted), TREES_PER_STATEMENT):
        part = wanted[start : start + TREES_PER_STATEMENT]
        rows = tx.rows(
            "select distinct tree from evidence where definition = ? and environment = ? and verdict = 'pass' "
            f"and tree in {placeholders(part)}",
            definition,
            environment,
            *part,
        )
        found |= {row[0] for row in rows}
    return found


def list_passes(tx: Reader, *, commit: str, tree: str) -> list[Evidence]:
    """The passes of a commit, or of another with its tree, newest first."""
    where = "where verdict = 'pass' and (commit_id = ? or (tree = ? and tree <> '')) order by number desc limit ?"
    return EVIDENCE.select(tx, where, commit, tree, MAX_PASSES)


def list_failures(tx: Reader, tree: str) -> list[Evidence]:
    """The results on a tree that speak against it, oldest first."""
    return EVIDENCE.select(tx, "where tree = ? and verdict in ('fail', 'flaky') order by number", tree)


def list_of_task(tx: Reader, task_id: str, *, limit: int = 50) -> list[Evidence]:
    """The newest results about a task, newest first."""
    return EVIDENCE.select(tx, "where task_id = ? order by number desc limit ?", task_id, limit)


def list_of_commit(tx: Reader, commit: str, *, limit: int = 50) -> list[Evidence]:
    """The newest results about a commit, newest first."""
    return EVIDENCE.select(tx, "where commit_id = ? order by number desc limit ?", commit, limit)


def list_of_run(tx: Reader, run: str, *, limit: int = 500) -> list[Evidence]:
    """The newest results of a run, newest first."""
    return EVIDENCE.select(tx, "where run = ? order by number desc limit ?", run, limit)


def list_evidence(tx: Reader, *, limit: int, offset: int = 0) -> tuple[list[Evidence], int]:
    """A page of all results, newest first, and the total number."""
    page = EVIDENCE.select(tx, "order by number desc limit ? offset ?", limit, offset)
    return page, tx.count("select count(*) from evidence")
