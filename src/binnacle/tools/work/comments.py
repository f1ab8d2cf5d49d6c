"""Tools for comments on tasks."""

from typing import Annotated

from msgspec import Meta

from binnacle.store import comments
from binnacle.store.transaction import Writer
from binnacle.tools.outcome import ToolReply
from binnacle.tools.work.task_text import TaskRef
from binnacle.tools.work.typed_tool import tool

CATEGORY = "comments"
CommentRef = Annotated[str, Meta(description="id of the comment, from task_get", examples=["bnc-1f3a"])]


@tool(
    title="Comment on a task",
    category=CATEGORY,
    aliases=["add_task_comment"],
    synonyms={"id": "task_id", "author": "", "priority": ""},
    errors=[("E_NOT_FOUND", "no task has that id")],
)
def comment_add(
    tx: Writer,
    task_id: TaskRef,
    body: Annotated[str, Meta(description="what was tried, found or decided")],
    *,
    discipline: str | None = None,
) -> ToolReply:
    """Adds a comment to a task. The next agent on the task reads the comments first."""
    made = comments.add(tx, task_id, body, discipline=discipline)
    return ToolReply({"comment": made}, f"Comment {made.id} added to {made.task_id}")


@tool(
    title="Change a comment",
    category=CATEGORY,
    aliases=["update_task_comment"],
    idempotent=True,
    synonyms={"comment_id": "id"},
)
def comment_update(tx: Writer, id: CommentRef, body: str) -> ToolReply:  # noqa: A002
    """Rewrites a comment."""
    made = comments.update(tx, id, body)
    return ToolReply({"comment": made}, f"Comment {made.id} changed")


@tool(
    title="Delete a comment",
    category=CATEGORY,
    aliases=["delete_task_comment"],
    destructive=True,
    synonyms={"comment_id": "id"},
)
def comment_delete(tx: Writer, id: CommentRef) -> ToolReply:  # noqa: A002
    """Deletes a comment."""
    gone = comments.delete(tx, id)
    return ToolReply({"deleted": gone.id}, f"Comment {gone.id} deleted")
