"""Comments on tasks."""

from binnacle.errors import InvalidInput, NotFound
from binnacle.store import tasks
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.journal import MAX_BODY_CHARACTERS, Comment
from binnacle.work.text import clean_name, clean_text

COMMENTS = Table("comment", Comment, times=("created_at", "updated_at"), key=("id",))


def add(tx: Writer, task: str, body: str, *, discipline: str | None = None, author: str | None = None) -> Comment:
    """Adds a comment by the actor, or by `author` if given."""
    comment = Comment(
        id=fresh_id(tx, "comment", "bnc-"),
        task_id=tasks.resolve(tx, task),
        author=author or tx.by.name,
        discipline=clean_name(discipline, what="discipline") if discipline else None,
        body=_clean_body(body),
        created_at=tx.now,
        updated_at=tx.now,
    )
    COMMENTS.insert(tx, [COMMENTS.row(comment)])
    tx.record("comment", comment.id, "added", {"task": comment.task_id, "body": comment.body[:200]})
    return comment


def get(tx: Reader, comment_id: str) -> Comment:
    """The comment with this id."""
    found = COMMENTS.first(tx, "where id = ?", comment_id.strip().casefold())
    if found is None:
        raise NotFound(
            f"no comment {comment_id!r}",
            hint=steps.show("ID", words="read the task, which shows the ids of its comments"),
        )
    return found


def list_comments(tx: Reader, task_id: str, *, limit: int = 100) -> list[Comment]:
    """The newest comments on a task, oldest first."""
    return COMMENTS.select(tx, "where task_id = ? order by number desc limit ?", task_id, limit)[::-1]


def update(tx: Writer, comment_id: str, body: str) -> Comment:
    """Rewrites a comment."""
    comment = get(tx, comment_id)
    COMMENTS.update(tx, {"body": _clean_body(body), "updated_at": tx.now}, "id = ?", comment.id)
    tx.record("comment", comment.id, "updated", {"task": comment.task_id})
    return get(tx, comment.id)


def delete(tx: Writer, comment_id: str) -> Comment:
    """Deletes a comment and returns it."""
    comment = get(tx, comment_id)
    COMMENTS.delete(tx, "id = ?", comment.id)
    tx.record("comment", comment.id, "deleted", {"task": comment.task_id, "body": comment.body[:200]})
    return comment


def _clean_body(text: str) -> str:
    body = clean_text(text, what="comment", limit=MAX_BODY_CHARACTERS)
    if not body:
        raise InvalidInput("comment is empty", hint="say what was tried, found or decided")
    return body
