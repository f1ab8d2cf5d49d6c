"""`bn session`: the sessions of agents, their iterations, and what was said and done in them."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen
from binnacle.store import sessions
from binnacle.work.session import Iteration, SessionRecord

if TYPE_CHECKING:
    from binnacle.runner.transcript import TranscriptEntry

SESSION = Group("session")

ID = arg("id", metavar="ID|NAME", help="the session, such as bns-1f3a, or the name of a run for its newest")
STYLES = {"prompt": "cyan", "thought": "dim", "tool": "", "message": "", "permission": "yellow", "end": "dim"}


class SessionListAnswer(CommandAnswer):
    """The newest sessions."""

    sessions: list[SessionRecord]


class SessionAnswer(CommandAnswer):
    """A session, its iterations and the folder of its files."""

    session: SessionRecord
    iterations: list[Iteration]
    folder: str


class TranscriptAnswer(CommandAnswer):
    """What was said and done in a session."""

    session: str
    entries: "list[TranscriptEntry]"


def _show_list(answer: SessionListAnswer, screen: Screen) -> None:
    from binnacle.cli.views import ago

    if not answer.sessions:
        screen.line("no sessions; one begins with: bn run SPEC, or: bn plan launch CLIENT")
        return
    rows = (
        (one.id, one.status, one.name, one.recipe, one.feature or one.task_id or "", ago(one.created_at), one.reason)
        for one in answer.sessions
    )
    screen.table(rows, flexible=6, headings=("ID", "STATUS", "NAME", "RECIPE", "ABOUT", "BEGUN", ""))


def _show_one(answer: SessionAnswer, screen: Screen) -> None:
    from binnacle.cli.views import fields

    session = answer.session
    screen.heading(f"{session.id}  {session.name or session.recipe}")
    names = ("status", "reason", "recipe", "discipline", "feature", "task_id", "created_at", "ended_at")
    fields([*((name, getattr(session, name)) for name in names), ("files", answer.folder)], screen)
    for one in answer.iterations:
        screen.line()
        screen.heading(f"iteration {one.number}{f', {one.task_started}' if one.task_started else ''}")
        screen.block(one.summary or ("(under way)" if one.ended_at is None else "(no summary)"))


def _show_transcript(answer: TranscriptAnswer, screen: Screen) -> None:
    if not answer.entries:
        screen.line("nothing was recorded")
    for entry in answer.entries:
        if entry.kind == "iteration":
            screen.heading(f"── iteration {entry.iteration}")
        elif text := _text(entry):
            for line in text.splitlines():
                screen.line(screen.styled(f"{entry.kind[:8]:>10}  {line}", STYLES.get(entry.kind, "dim")))


def _text(entry: "TranscriptEntry") -> str:
    match entry.kind:
        case "tool":
            return f"{entry.title or entry.id} {entry.status}".strip()
        case "plan":
            return "\n".join(f"{status}: {step}" for step, status in entry.steps)
        case "permission":
            return f"{'allowed' if entry.is_allowed else 'refused'} by {entry.by}: {entry.title}"
        case "usage":
            return ""
    return entry.text


@SESSION.command(
    "list",
    "the newest sessions",
    "bn session list",
    limit_arg(20),
    view=_show_list,
    needs=READS,
)
def list_sessions(context: Context, args: Namespace) -> SessionListAnswer:
    with context.reading() as tx:
        return SessionListAnswer(sessions=sessions.list_sessions(tx, limit=args.limit))


@SESSION.command("show", "a session with its iterations", "bn session show bns-1f3a", ID, view=_show_one, needs=READS)
def show(context: Context, args: Namespace) -> SessionAnswer:
    from binnacle.sessions.planning import session_folder

    with context.reading() as tx:
        session = sessions.find(tx, args.id)
        iterations = sessions.list_iterations(tx, session.id)
    folder = session_folder(context.project, session.id)
    return SessionAnswer(session=session, iterations=iterations, folder=folder)


@SESSION.command(
    "transcript",
    "what was said and done in a session of bn run, as far as this machine has it",
    "bn session transcript auth --iteration 3",
    ID,
    arg("--iteration", type=int, metavar="N", help="only this one"),
    view=_show_transcript,
    needs=READS,
)
def transcript(context: Context, args: Namespace) -> TranscriptAnswer:
    from binnacle.runner.transcript import read_transcript
    from binnacle.sessions.planning import session_folder

    with context.reading() as tx:
        session = sessions.find(tx, args.id)
    found = read_transcript(session_folder(context.project, session.id), iteration=args.iteration)
    return TranscriptAnswer(session=session.id, entries=list(found))
