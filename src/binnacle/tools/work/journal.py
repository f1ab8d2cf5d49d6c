"""Tools for learnings, progress and notes."""

from typing import Annotated

from msgspec import Meta, Struct

from binnacle.store import learnings
from binnacle.store import notes as store_notes
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolAlias
from binnacle.tools.work.task_text import Limit
from binnacle.tools.work.typed_tool import tool
from binnacle.work.journal import Note, parse_note_type
from binnacle.work.learning import Learning

LEARNINGS, JOURNAL = "learnings", "journal"
FeatureName = Annotated[str | None, Meta(description="the feature it is about; the project when left out")]


def _format_learning(one: Learning) -> str:
    notes_ = [one.feature or "project", one.source, "reviewed" if one.reviewed else "unreviewed"]
    notes_ += [f"observed {one.hit_count}x"] if one.hit_count > 1 else []
    return f"{one.text} [{', '.join(notes_)}]{f' ({one.reason})' if one.reason else ''}"


@tool(
    title="Add a learning",
    category=LEARNINGS,
    aliases=["append_learning", "append_feature_learning"],
    synonyms={"feature_name": "feature", "source": ""},
    errors=[("E_FULL", "no room; delete one that is no longer true")],
)
def learning_add(
    tx: Writer,
    text: Annotated[str, Meta(description="what you found out, in a sentence; at most 500 characters")],
    *,
    feature: FeatureName = None,
    reason: Annotated[str, Meta(description="how it is known")] = "",
    task_id: Annotated[str | None, Meta(description="the task in which you found it out")] = None,
) -> ToolReply:
    """Keeps a finding. A near duplicate is counted, a contradiction replaces what it contradicts."""
    added = learnings.add(tx, text, feature=feature, reason=reason, task=task_id)
    said = {
        "added": "Added",
        "counted": f"Already known, observed {added.learning.hit_count} times",
        "replaced": f"Replaced «{added.was}»",
    }[added.outcome]
    data = {"outcome": added.outcome, "learning": added.learning, "was": added.was, "pruned": list(added.pruned)}
    return ToolReply(data, f"{said}: {_format_learning(added.learning)}")


@tool(
    title="Read learnings",
    category=LEARNINGS,
    aliases=["read_learnings", ToolAlias(name="get_feature_learnings")],
    synonyms={"feature_name": "feature", "name": "feature"},
)
def learning_list(tx: Reader, *, feature: FeatureName = None) -> ToolReply:
    """The learnings, most trustworthy first."""
    found = learnings.list_learnings(tx, feature=feature)
    return ToolReply({"learnings": found}, "\n".join(_format_learning(one) for one in found) or "No learnings.")


@tool(title="Append to the progress log", category=JOURNAL, aliases=["append_progress"])
def progress_add(tx: Writer, text: Annotated[str, Meta(description="what happened")]) -> ToolReply:
    """Appends to the project's running log."""
    made = store_notes.add_progress(tx, text)
    return ToolReply({"progress": made}, f"Logged: {made.text}")


@tool(title="Read the progress log", category=JOURNAL, aliases=["read_progress"])
def progress_list(tx: Reader, *, limit: Limit = 20) -> ToolReply:
    """The newest entries of the project's running log."""
    found, total = store_notes.list_progress(tx, limit=limit)
    text = "\n".join(f"{one.created_at:%Y-%m-%d %H:%M} {one.author}: {one.text}" for one in found)
    return ToolReply({"progress": found, "total": total}, text or "No progress yet.")


class NoteInput(Struct, kw_only=True, forbid_unknown_fields=True):
    """A note to keep."""

    content: str
    type: Annotated[str, Meta(description="learning, stuck, tip or decision")] = "tip"


def _format_note(one: Note) -> str:
    iteration = f" (#{one.iteration})" if one.iteration is not None else ""
    return f"[{one.type}]{iteration} {one.content}"


@tool(title="Keep notes", category=JOURNAL, aliases=["note-add"])
def note_add(tx: Writer, notes: Annotated[tuple[NoteInput, ...], Meta(min_length=1)]) -> ToolReply:
    """Keeps notes for this session: what to remember, where it got stuck, what was decided."""
    made = store_notes.add(tx, [(parse_note_type(one.type), one.content) for one in notes])
    return ToolReply(
        {"notes": made}, f"Added {len(made)} note(s):\n" + "\n".join(f"  {_format_note(one)}" for one in made)
    )


@tool(title="Read notes", category=JOURNAL, aliases=["note-list"])
def note_list(
    tx: Reader,
    *,
    type: Annotated[str | None, Meta(description="learning, stuck, tip or decision")] = None,  # noqa: A002
    limit: Limit = 50,
) -> ToolReply:
    """The newest notes."""
    found, total = store_notes.list_notes(tx, kind=parse_note_type(type) if type else None, limit=limit)
    return ToolReply({"notes": found, "total": total}, "\n".join(_format_note(one) for one in found) or "No notes")
