"""Comments on changes, each at a place of a commit: kept as drafts, sent to the next agent together, and followed."""

from collections.abc import Sequence

from binnacle.errors import Full, InvalidInput, NextStep, NotFound, Refused, WrongStatus
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.review import (
    MAX_CODE_CHARACTERS,
    MAX_REMARK_CHARACTERS,
    MAX_REMARKS,
    REMARK_PREFIX,
    RemarkState,
    Review,
    ReviewRemark,
)
from binnacle.work.text import clean_text, strip_controls

REMARKS = Table(
    "review_remark",
    ReviewRemark,
    times=("created_at", "sent_at", "seen_at", "settled_at"),
    key=("id",),
)

OPEN_STATES = ("sent", "seen")
"""Of comments that an agent has to do something about."""


def add(tx: Writer, found: Review, body: str, *, path: str = "", line: int = 0, code: str = "") -> ReviewRemark:
    """Adds a comment of the actor as a draft."""
    text = clean_text(body, what="comment", limit=MAX_REMARK_CHARACTERS)
    if not text:
        raise InvalidInput("comment is empty", hint="say what is wrong, and what would be right")
    if tx.count("select count(*) from review_remark where review = ?", found.id) >= MAX_REMARKS:
        raise Full(f"review {found.id} has {MAX_REMARKS} comments", hint="put what they have in common into one")
    remark = ReviewRemark(
        id=fresh_id(tx, "review_remark", REMARK_PREFIX),
        review=found.id,
        task_id=found.task_id,
        author=tx.by.name,
        is_by_person=tx.by.kind == "human",
        commit_id=found.commit_id,
        path=path,
        line=line,
        code=clean_code(code),
        body=text,
        created_at=tx.now,
    )
    REMARKS.insert(tx, [REMARKS.row(remark)])
    tx.record("review_remark", remark.id, "added", {"task": found.task_id, "body": text[:200], "place": remark.place})
    return remark


def clean_code(line: str) -> str:
    """A line of code as it is kept and compared."""
    return strip_controls(line.rstrip())[:MAX_CODE_CHARACTERS]


def get(tx: Reader, remark_id: str) -> ReviewRemark:
    """The comment with this id; its prefix may be left out."""
    wanted = f"{REMARK_PREFIX}{remark_id.strip().casefold().removeprefix(REMARK_PREFIX)}"
    found = REMARKS.first(tx, "where id = ?", wanted)
    if found is None:
        raise NotFound(f"no comment {remark_id[:60]!r}", hint=steps.LIST_REVIEWS)
    return found


def list_remarks(tx: Reader, task_id: str) -> list[ReviewRemark]:
    """The comments on the changes of a task, oldest first."""
    return REMARKS.select(tx, "where task_id = ? order by number", task_id)


def list_for_agent(tx: Reader, task_id: str) -> list[ReviewRemark]:
    """What the next agent on a task has to do something about, oldest first."""
    return REMARKS.select(tx, "where task_id = ? and state in ('sent', 'seen') order by number", task_id)


def send(tx: Writer, task_id: str, *, of_person: str = "") -> int:
    """Sends the drafts of agents, and those of one person, to the next agent. Returns how many."""
    where = "task_id = ? and state = 'draft' and (is_by_person = 0 or author = ?)"
    return REMARKS.update(tx, {"state": "sent", "sent_at": tx.now}, where, task_id, of_person)


def note_seen(tx: Writer, task_id: str) -> None:
    """Notes that an agent has got what was sent."""
    REMARKS.update(tx, {"state": "seen", "seen_at": tx.now}, "task_id = ? and state = 'sent'", task_id)


def edit(tx: Writer, remark: ReviewRemark, body: str) -> ReviewRemark:
    """Changes what a draft of the actor says.

    Raises:
        Refused: somebody else wrote it.
        WrongStatus: it was sent.
    """
    _check_is_own_draft(tx, remark)
    text = clean_text(body, what="comment", limit=MAX_REMARK_CHARACTERS)
    if not text:
        raise InvalidInput("comment is empty", hint="say what is wrong, or remove the draft")
    if text != remark.body:
        REMARKS.update(tx, {"body": text}, "id = ?", remark.id)
        tx.record("review_remark", remark.id, "updated", {"task": remark.task_id, "body": text[:200]})
    return get(tx, remark.id)


def remove(tx: Writer, remark: ReviewRemark) -> None:
    """Removes a draft of the actor.

    Raises:
        Refused: somebody else wrote it.
        WrongStatus: it was sent.
    """
    _check_is_own_draft(tx, remark)
    REMARKS.delete(tx, "id = ?", remark.id)
    said = {"task": remark.task_id, "body": remark.body[:200], "place": remark.place}
    tx.record("review_remark", remark.id, "deleted", said)


def _check_is_own_draft(tx: Writer, remark: ReviewRemark) -> None:
    if remark.author != tx.by.name:
        raise Refused(f"{remark.id} is a comment of {remark.author}", hint="change your own drafts")
    if remark.state != "draft":
        step = NextStep("say that nothing is left to do", f"review comment {remark.task_id} --addressed {remark.id}")
        raise WrongStatus(f"{remark.id} was sent: it is {remark.state}", hint=step)


def settle(tx: Writer, remark: ReviewRemark, state: RemarkState, *, commit: str = "") -> ReviewRemark:
    """Notes that the place of a comment is another now, or that a person calls it addressed."""
    if remark.state in ("addressed", "outdated"):
        raise WrongStatus(f"{remark.id} is {remark.state} already", hint="there is nothing left to do about it")
    columns = {"state": state, "settled_commit": commit, "settled_at": tx.now}
    REMARKS.update(tx, columns, "id = ?", remark.id)
    tx.record("review_remark", remark.id, state, {"task": remark.task_id, "commit": commit})
    return get(tx, remark.id)


def settle_sent(tx: Writer, remark: ReviewRemark) -> ReviewRemark:
    """Notes that a person calls a comment addressed that was sent.

    Raises:
        InvalidInput: it is a draft.
    """
    if remark.state == "draft":
        step = NextStep("remove it", f"review comment {remark.task_id} --remove {remark.id}")
        raise InvalidInput(f"{remark.id} was not sent yet", hint=step)
    return settle(tx, remark, "addressed")


def settle_open(tx: Writer, task_id: str, state: RemarkState, *, commit: str) -> None:
    """Notes that nothing is left to do about what agents were asked for."""
    columns = {"state": state, "settled_commit": commit, "settled_at": tx.now}
    REMARKS.update(tx, columns, "task_id = ? and state in ('sent', 'seen')", task_id)


def settle_each(tx: Writer, judged: Sequence[tuple[ReviewRemark, RemarkState]], *, commit: str) -> None:
    """Notes the states of comments whose places are others now."""
    for remark, state in judged:
        if state in ("addressed", "outdated") and get(tx, remark.id).state not in ("addressed", "outdated"):
            settle(tx, remark, state, commit=commit)
