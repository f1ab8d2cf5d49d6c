"""`bn session`: the sessions of agents, their iterations, and what was said and done in them."""

from argparse import Namespace
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import field

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen
from binnacle.cli.session_answer import AttemptedTask, SessionAnswer, SessionTotals
from binnacle.errors import NotFound
from binnacle.store import run_messages, runs, sessions, tasks
from binnacle.store.transaction import Reader
from binnacle.work.run import state_of_run
from binnacle.work.session import Iteration, SessionRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from binnacle.runner.transcript import TranscriptEntry
    from binnacle.work.task import Task

SESSION = Group("session")

ID = arg("id", metavar="ID|NAME", help="the session, such as bns-1f3a, or the name or id of a run")


class SessionListAnswer(CommandAnswer):
    """The newest sessions."""

    sessions: list[SessionRecord]
    runs: dict[str, str] = field(default_factory=dict)
    """For each run that they belong to: `active`, `paused`, `interrupted`, or why it ended."""


class TranscriptAnswer(CommandAnswer):
    """What was said and done in a session."""

    session: str
    entries: "list[TranscriptEntry]"
    full: bool = False
    """Whether people see everything; programs always do."""

    place: str = ""
    """The machine and the folder of the session, if it is one of a run."""

    others: tuple[str, ...] = ()
    """The other sessions of its run."""


def _show_list(answer: SessionListAnswer, screen: Screen) -> None:
    from binnacle.cli.views import ago

    if not answer.sessions:
        screen.line("no sessions; one begins with: bn run SPEC, or: bn plan launch CLIENT")
        return
    rows = (
        (
            one.id,
            _state(answer, one),
            one.name,
            one.recipe,
            one.feature or one.task_id or "",
            ago(one.created_at),
            one.reason,
        )
        for one in answer.sessions
    )
    screen.table(rows, flexible=6, headings=("ID", "STATUS", "NAME", "RECIPE", "ABOUT", "BEGUN", ""))


def _state(answer: SessionListAnswer, session: SessionRecord) -> str:
    """The status of a session. One of a run that has ended can be resumed, so it is still active in the store."""
    return answer.runs.get(session.run or "", session.status) if session.status == "active" else session.status


def _show_one(answer: SessionAnswer, screen: Screen) -> None:
    from binnacle.cli.session_view import show_session

    show_session(answer, screen)


def _show_transcript(answer: TranscriptAnswer, screen: Screen) -> None:
    from binnacle.cli.transcript_view import show_entries

    if not answer.entries:
        screen.line(f"nothing was recorded here{f'; it ran at {answer.place}' if answer.place else ''}")
    show_entries(answer.entries, screen, session=answer.session, is_full=answer.full)
    for other in answer.others:
        screen.line(screen.styled(f"another worker of this run: bn session transcript {other}", "dim"))


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
        found = sessions.list_sessions(tx, limit=args.limit)
        states = {run: _describe_state(tx, run) for run in {one.run for one in found if one.run}}
    return SessionListAnswer(sessions=found, runs=states)


def _describe_state(tx: Reader, run_id: str) -> str:
    run = runs.get(tx, run_id)
    is_driven = run.status == "active" and bool(run_messages.list_driven(tx, run.id))
    state = state_of_run(run.status, is_paused=run.is_paused, is_driven=is_driven)
    return run.why if state == "ended" else "active" if state == "working" else state


@SESSION.command(
    "show",
    "a session or a run: its tasks and attempts, what they led to and took, and how it ended",
    "bn session show auth",
    ID,
    view=_show_one,
    needs=READS,
)
def show(context: Context, args: Namespace) -> SessionAnswer:
    from msgspec.structs import replace

    from binnacle.sessions.planning import session_folder

    with context.reading() as tx:
        session = _find(tx, args.id)
        run = runs.get(tx, session.run) if session.run else None
        others = [one.id for one in runs.list_sessions(tx, run.id)] if run else []
        shown = others if run and args.id != session.id else [session.id]
        found = [one for session_id in shown for one in sessions.list_iterations(tx, session_id)]
        titles = tasks.get_many(tx, {one.task_started for one in found if one.task_started})
    found.sort(key=lambda one: (one.started_at, one.number))
    return SessionAnswer(
        session=session,
        iterations=found,
        folder=session_folder(context.project, session.id),
        tasks=tuple(_attempted(found, titles)),
        totals=_totals(found),
        run=replace(run, asked="") if run else None,
        sessions=tuple(others),
    )


def _find(tx: Reader, text: str) -> SessionRecord:
    """The session with this id or name, or the newest one of the run with this id or name."""
    try:
        return sessions.find(tx, text)
    except NotFound:
        run = runs.RUNS.first(tx, "where id = ? or name = ? order by number desc", text, text)
        found = runs.list_sessions(tx, run.id) if run else []
        if not found:
            raise
        return found[0]


def _attempted(found: "Sequence[Iteration]", known: "Mapping[str, Task]") -> list[AttemptedTask]:
    counts = Counter(one.task_started for one in found if one.task_started)
    return [
        AttemptedTask(id=one, title=known[one].title, status=known[one].status, attempts=count)
        if one in known
        else AttemptedTask(id=one, attempts=count)
        for one, count in counts.items()
    ]


def _totals(found: "Sequence[Iteration]") -> SessionTotals:
    cost: dict[str, float] = {}
    for one in found:
        if one.currency:
            cost[one.currency] = round(cost.get(one.currency, 0.0) + one.cost, 6)
    who = {f"{one.agent} ({one.model})" if one.model else one.agent: None for one in found if one.agent}
    return SessionTotals(
        iterations=len(found),
        seconds=round(sum(one.seconds for one in found), 3),
        tokens=sum(one.tokens for one in found),
        cost=cost,
        commits=[one.commit_id for one in found if one.commit_id],
        files=sum(one.files for one in found),
        agents=list(who),
    )


@SESSION.command(
    "transcript",
    "what was said and done in a session of bn run, as far as this machine has it",
    "bn session transcript auth --iteration 3",
    ID,
    arg("--iteration", type=int, metavar="N", help="only this one"),
    arg("--full", action="store_true", help="show long prompts, arguments, results and diffs completely"),
    view=_show_transcript,
    needs=READS,
)
def transcript(context: Context, args: Namespace) -> TranscriptAnswer:
    from binnacle.runner.transcript import read_transcript
    from binnacle.sessions.planning import session_folder

    with context.reading() as tx:
        session = _find(tx, args.id)
        others = [one.id for one in runs.list_sessions(tx, session.run) if one.id != session.id] if session.run else []
    found = read_transcript(session_folder(context.project, session.id), iteration=args.iteration)
    return TranscriptAnswer(
        session=session.id, entries=list(found), full=args.full, place=session.place, others=tuple(others)
    )
