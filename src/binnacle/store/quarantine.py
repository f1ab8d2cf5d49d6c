"""Quarantine: flaky tests whose failures do not count until a date. Each has an owner, and goes on running."""

from datetime import datetime

from binnacle.errors import InvalidInput, NextStep, NotFound, PersonNeeded
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work.acceptance import clean_check_names
from binnacle.work.evidence import QuarantinedTest
from binnacle.work.text import clean_line, clean_optional_line

QUARANTINE = Table("quarantine", QuarantinedTest, times=("ends_at", "created_at"), key=("check_name", "test_id"))

MAX_TEST_CHARACTERS = 500


def add(
    tx: Writer, check_name: str, test_id: str, *, ends_at: datetime, owner: str = "", reason: str = ""
) -> QuarantinedTest:
    """Puts a test into quarantine, or changes its end, owner and reason.

    Raises:
        PersonNeeded: the actor is an agent.
        InvalidInput: the end is not in the future.
    """
    _require_person(tx, "put a test into quarantine")
    if ends_at <= tx.now:
        raise InvalidInput(f"a quarantine ends in the future, not at {stamp(ends_at)}", hint="give a later date")
    (name,) = clean_check_names((clean_line(check_name, what="check"),))
    entry = QuarantinedTest(
        check_name=name,
        test_id=clean_line(test_id, what="test", limit=MAX_TEST_CHARACTERS),
        owner=clean_optional_line(owner, what="owner", limit=100) or tx.by.name,
        reason=clean_optional_line(reason, what="reason", limit=500),
        ends_at=ends_at,
        created_at=tx.now,
    )
    QUARANTINE.delete(tx, QUARANTINE.where_key, entry.check_name, entry.test_id)
    QUARANTINE.insert(tx, [QUARANTINE.row(entry)])
    said = {"test": entry.test_id, "owner": entry.owner, "ends_at": stamp(ends_at)}
    tx.record("quarantine", entry.check_name, "added", said)
    return entry


def end(tx: Writer, check_name: str, test_id: str) -> QuarantinedTest:
    """Takes a test out of quarantine.

    Raises:
        NotFound: it is not in quarantine.
    """
    _require_person(tx, "take a test out of quarantine")
    found = QUARANTINE.first(tx, f"where {QUARANTINE.where_key}", check_name, test_id)
    if found is None:
        raise NotFound(f"no test {test_id!r} of {check_name!r} is in quarantine", hint="list what is")
    QUARANTINE.delete(tx, QUARANTINE.where_key, check_name, test_id)
    tx.record("quarantine", check_name, "ended", {"test": test_id})
    return found


def list_active(tx: Reader, check_name: str | None = None) -> list[QuarantinedTest]:
    """The tests in quarantine now. One whose end has passed counts again."""
    only, values = ("and check_name = ? ", [check_name]) if check_name is not None else ("", [])
    return QUARANTINE.select(tx, f"where ends_at > ? {only}order by check_name, test_id", stamp(tx.now), *values)


def list_all(tx: Reader) -> list[QuarantinedTest]:
    """Every entry, also those whose end has passed."""
    return QUARANTINE.select(tx, "order by check_name, test_id")


def _require_person(tx: Writer, what: str) -> None:
    if tx.by.kind == "agent":
        raise PersonNeeded(f"only a person may {what}", hint=NextStep("ask for it", for_person=True))
