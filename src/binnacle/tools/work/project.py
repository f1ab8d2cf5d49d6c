"""Tools about the project as a whole, and about the session they are called in."""

from typing import Annotated

from msgspec import Meta

from binnacle.store import features, sessions
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views import overview
from binnacle.tools.outcome import ToolReply
from binnacle.tools.work.typed_tool import tool
from binnacle.work.session import SessionRecord

PROJECT, SESSION = "project", "session"
OPEN = ("E_REFUSED", "tasks are open; the error names them")


@tool(title="The project", category=PROJECT, aliases=["get_project_info"])
def project_info(tx: Reader) -> ToolReply:
    """The project's features, disciplines and number of tasks."""
    counts = overview.load_overview(tx)
    names = [one.name for one in features.list_features(tx)]
    people = [one.name for one in features.list_disciplines(tx)]
    text = f"{counts.tasks} tasks, {counts.ready} ready\nfeatures: {', '.join(names) or 'none'}"
    text += f"\ndisciplines: {', '.join(people) or 'none'}"
    return ToolReply({"overview": counts, "features": names, "disciplines": people}, text)


@tool(title="Progress of the project", category=PROJECT, aliases=["get_project_progress"])
def project_progress(tx: Reader) -> ToolReply:
    """How many tasks are done and open, by feature."""
    found = overview.load_stats(tx)
    status = ", ".join(f"{count} {name}" for name, count in found.overview.by_status.items())
    proof = found.overview.proof.describe()
    rows = [
        f"{one.feature or '(no feature)'}: {one.proof.describe() or '0 done'}; {one.open} open"
        for one in found.features
    ]
    return ToolReply(found, "\n".join(filter(None, (status or "no tasks", proof, *rows))))


@tool(
    title="Summarise the iteration",
    category=SESSION,
    aliases=["iteration-summary"],
    errors=[("E_REFUSED", "it already has one")],
)
def iteration_summary(
    tx: Writer, summary: Annotated[str, Meta(description="the result of this iteration")]
) -> ToolReply:
    """Records the result of this iteration. One summary per iteration."""
    session = _find_or_start_session(tx)
    if not sessions.list_iterations(tx, session.id):
        sessions.begin_iteration(tx, session.id)
    done = sessions.summarize(tx, session.id, summary)
    return ToolReply({"session": session.id, "iteration": done}, f"Iteration {done.number} summarised")


@tool(title="Complete the session", category=SESSION, aliases=["session-complete"], errors=[OPEN])
def session_complete(tx: Writer, *, reason: str = "") -> ToolReply:
    """Says that everything is done. Refused while tasks are open."""
    ended = sessions.complete(tx, _find_or_start_session(tx).id, reason=reason)
    return ToolReply({"session": ended}, f"Session {ended.id} complete")


@tool(title="Abort the session", category=SESSION, aliases=["signal_abort"])
def session_abort(tx: Writer, reason: Annotated[str, Meta(description="why it cannot continue")]) -> ToolReply:
    """Says that this session cannot continue and should be stopped."""
    ended = sessions.abort(tx, _find_or_start_session(tx).id, reason=reason)
    return ToolReply({"session": ended}, f"Session {ended.id} aborted: {ended.reason}")


def _find_or_start_session(tx: Writer) -> SessionRecord:
    """The session of the call; otherwise the newest active one; otherwise a new one."""
    if tx.session and sessions.SESSIONS.first(tx, "where id = ?", tx.session):
        return sessions.get(tx, tx.session)
    active = next((one for one in sessions.list_sessions(tx, limit=20) if one.status == "active"), None)
    return active or sessions.start(tx, name=tx.by.name)
