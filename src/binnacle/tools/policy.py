"""What no session may change, because it limits sessions: denials, servers, and the session's own discipline."""

from collections.abc import Mapping

from binnacle.errors import NextStep, PersonNeeded
from binnacle.store import features, sessions
from binnacle.store.transaction import Writer

POLICY = ("denied_tools", "upstreams")
"""The fields of a discipline that say what its sessions may do."""


def check_discipline_change(tx: Writer, name: str, changes: Mapping[str, object] | None) -> None:
    """Refuses an agent's change of a discipline that would change what sessions may do; `changes` None deletes it.

    Raises:
        PersonNeeded: the change is about denied tools or servers, or this session works as that discipline.
    """
    if tx.by.kind != "agent":
        return
    if changes is not None and (given := [field for field in POLICY if field in changes]):
        raise _person_needed(f"set {given[0]} of a discipline", f"discipline update {name}")
    if _binds(tx, name):
        raise _person_needed(
            f"change {name!r} here: this session works as that discipline", f"discipline update {name}"
        )
    if changes is None and any(getattr(features.get_discipline(tx, name), field) for field in POLICY):
        raise _person_needed(f"delete {name!r}, which says what its sessions may do", f"discipline delete {name}")


def _binds(tx: Writer, name: str) -> bool:
    record = sessions.SESSIONS.first(tx, "where id = ?", tx.session) if tx.session else None
    return record is not None and record.discipline == name


def _person_needed(what: str, command: str) -> PersonNeeded:
    return PersonNeeded(f"only a person may {what}", hint=NextStep("do it", command, for_person=True))
