"""`bn` alone and `bn stats`: the state of the project."""

from argparse import Namespace

from binnacle.cli.command import CommandAnswer, Group, reads
from binnacle.cli.context import Context
from binnacle.cli.screen import STATUS_MARKS, Screen
from binnacle.store import attention, questions, runs, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader
from binnacle.store.views.overview import ProjectOverview, ProjectStats, load_overview, load_stats
from binnacle.work.evidence import UNPROVEN_LEVELS
from binnacle.work.report import Question
from binnacle.work.run import Attention
from binnacle.work.task import Brief, brief

STATUS, STATS = Group("status"), Group("stats")

MAX_SHOWN_TASKS = 5
"""Tasks of each kind that the overview names."""


class OpenQuestion(CommandAnswer):
    """A question of an agent, with the command that answers it."""

    id: str
    task_id: str
    text: str
    options: tuple[str, ...]
    blocking: bool
    asked_by: str
    answer_with: str


class OpenAttention(CommandAnswer):
    """Something else that waits for a person, with the command that answers it."""

    id: str
    kind: str
    title: str
    answer_with: str
    body: str = ""
    task_id: str | None = None
    session: str | None = None
    run: str | None = None


class StatusAnswer(CommandAnswer):
    """The state of the project."""

    project: str
    repo: str
    questions: list[OpenQuestion]
    attention: list[OpenAttention]
    """What else waits for a person: permissions, reviews, and runs that ended."""

    not_trusted: list[str]
    """The keys of what came with the project and has no effect yet."""

    overview: ProjectOverview
    in_progress: list[Brief]
    ready: list[Brief]
    blocked: list[Brief]
    only_said: list[Brief]
    """What is done and not proven, in a project that proves work."""


def _show_status(answer: StatusAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    counts = answer.overview
    screen.heading(answer.project)
    if answer.not_trusted:
        count = len(answer.not_trusted)
        what = "1 thing of this project has" if count == 1 else f"{count} things of this project have"
        which = "it" if count == 1 else "them"
        screen.line(f"{screen.styled('!', 'yellow')} {what} no effect until you trust {which}: bn trust")
    for entry in answer.attention:
        _show_attention(entry, screen)
    if not counts.tasks:
        screen.line("no tasks yet; add one with: bn task add 'TITLE'")
        return
    for question in answer.questions:
        _show_question(question, screen)
    done = counts.by_status.get("done", 0)
    words = [f"{STATUS_MARKS[status][0]} {count} {status}" for status, count in counts.by_status.items()]
    screen.line(f"{_bar(done, counts.tasks, screen)} {done}/{counts.tasks} done   {'  '.join(words)}")
    if done:
        mark, style = ("✓", "green") if counts.proof.is_proven else ("◇", "yellow")
        screen.line(f"{screen.styled(mark, style)} {counts.proof.describe()}")
    parts = (
        ("In progress", answer.in_progress),
        ("Ready", answer.ready),
        ("Blocked", answer.blocked),
        ("Done, but not proven", answer.only_said),
    )
    for title, some in parts:
        if some:
            screen.line()
            screen.heading(title)
            task_table(some, len(some), screen, empty="")
    if len(answer.only_said) < counts.proof.unproven and answer.only_said:
        screen.line("see all of these: bn task list --level said --level observed")


def _show_question(question: OpenQuestion, screen: Screen) -> None:
    waits = ", which waits for the answer" if question.blocking else ""
    screen.line(f"{screen.styled('?', 'magenta')} {question.asked_by} asks about {question.task_id}{waits}:")
    screen.block(question.text)
    screen.block("\n".join(f"{number}. {one}" for number, one in enumerate(question.options, 1)), indent=4)
    screen.line(f"  answer with: {question.answer_with}")


MAX_BODY_LINES = 5
"""Lines of what an agent wants to do that the overview shows."""


def _show_attention(entry: OpenAttention, screen: Screen) -> None:
    about = f" for {entry.task_id}" if entry.task_id else ""
    what = {"permission": "an agent asks for permission", "review": "a review waits"}.get(entry.kind, entry.kind)
    screen.line(f"{screen.styled('!', 'magenta')} {what}{about}: {entry.title}")
    lines = entry.body.splitlines()
    screen.block("\n".join(lines[:MAX_BODY_LINES] + (["…"] if len(lines) > MAX_BODY_LINES else [])), indent=4)
    screen.line(f"  {_name_answer(entry)} with: {entry.answer_with}")
    if entry.kind == "ended":
        screen.line(f"  or, if you have seen it: bn session answer {entry.id}")


def _name_answer(entry: OpenAttention) -> str:
    if entry.kind == "review":
        return "look at it"
    if entry.kind != "ended":
        return "answer"
    return "resume it" if entry.answer_with.startswith("bn run ") else "see what is only said"


def _waiting(entry: Attention, ends: dict[str, tuple[str, str]]) -> OpenAttention:
    """What waits, with how to answer it."""
    how = f"bn session answer {entry.id} {'|'.join(entry.options) or 'TEXT'}"
    if entry.kind == "review":
        how = f"bn review show {entry.task_id}"
    if entry.kind == "ended":
        name, why = ends.get(entry.run or "", ("NAME", ""))
        how = f"bn report {name}" if why == "unproven" else f"bn run --resume --name {name}"
    return OpenAttention(
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        body=entry.body,
        task_id=entry.task_id,
        session=entry.session,
        run=entry.run,
        answer_with=how,
    )


def _asked(question: Question) -> OpenQuestion:
    """An open question, with how to answer it."""
    return OpenQuestion(
        id=question.id,
        task_id=question.task_id,
        text=question.text,
        options=question.options,
        blocking=question.blocking,
        asked_by=question.asked_by,
        answer_with=f"bn ask answer {question.id} {'NUMBER' if question.options else 'TEXT'}",
    )


def _bar(part: int, whole: int, screen: Screen) -> str:
    filled = 20 * part // whole
    return screen.styled("█" * filled, "green") + screen.styled("░" * (20 - filled), "dim")


def _show_stats(stats: ProjectStats, screen: Screen) -> None:
    from binnacle.cli.views import fields

    counts = stats.overview
    fields(
        (
            ("tasks", counts.tasks),
            ("ready", str(counts.ready)),
            ("waiting", str(counts.waiting)),
            ("by status", _pairs(counts.by_status)),
            ("closed", counts.proof.describe()),
            ("open by priority", _pairs(stats.open_by_priority)),
            ("by kind", _pairs(stats.by_kind)),
            ("in progress by", _pairs(stats.claims)),
            ("comments", stats.comments),
            ("learnings", stats.learnings),
            ("notes", stats.notes),
            ("events", stats.events),
        ),
        screen,
    )
    if stats.features:
        screen.line()
        rows = ((one.feature or "(none)", str(one.open), one.proof.describe()) for one in stats.features)
        screen.table(rows, flexible=0, headings=("FEATURE", "OPEN", "CLOSED"))


def _pairs(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


@STATUS.command(
    "",
    "the state of the project: what is in progress, what is ready",
    "bn",
    view=_show_status,
    needs=reads("project_info", "project_progress"),
)
def status(context: Context, args: Namespace) -> StatusAnswer:  # noqa: ARG001
    with context.reading() as tx:
        counts = load_overview(tx)
        working, _ = tasks.list_tasks(tx, TaskFilter(status=("in_progress",)), limit=MAX_SHOWN_TASKS)
        ready, _ = tasks.list_ready(tx, limit=MAX_SHOWN_TASKS)
        blocked, _ = tasks.list_blocked(tx, limit=MAX_SHOWN_TASKS)
        asked, _ = questions.list_questions(tx, limit=MAX_SHOWN_TASKS)
        others = [one for one in attention.list_open(tx) if one.question is None][:MAX_SHOWN_TASKS]
        ends = runs.find_ends(tx, [one.run for one in others if one.run])
        said = TaskFilter(levels=UNPROVEN_LEVELS)
        proves = counts.proof.unproven and counts.proof.done > counts.proof.unproven
        only_said, _ = tasks.list_tasks(tx, said, limit=MAX_SHOWN_TASKS) if proves else ([], 0)
        reviews = _find_reviews(tx) if counts.by_status.get("in_review") else []
    project = context.project
    return StatusAnswer(
        project=project.settings.text("project.title") or project.repo.rpartition("/")[2] or project.repo,
        repo=project.repo,
        questions=[_asked(question) for question in asked],
        attention=_join([_waiting(entry, ends) for entry in others], reviews),
        not_trusted=_not_trusted(context),
        overview=counts,
        in_progress=[brief(task) for task in working],
        ready=[brief(task) for task in ready],
        blocked=[brief(task) for task in blocked],
        only_said=[brief(task) for task in only_said],
    )


def _find_reviews(tx: Reader) -> list[OpenAttention]:
    """The changes that a person has to look at."""
    from binnacle.store.views import review_overview

    found, _ = review_overview.list_waiting(tx, limit=MAX_SHOWN_TASKS)
    return [
        OpenAttention(
            id=one.review,
            kind="review",
            title=f"{one.title} ({'; '.join(one.reasons)})" if one.reasons else one.title,
            task_id=one.task_id,
            answer_with=f"bn review show {one.task_id}",
        )
        for one in found
        if review_overview.PERSON in one.waits_for
    ]


def _join(waiting: list[OpenAttention], reviews: list[OpenAttention]) -> list[OpenAttention]:
    """What waits for a person, each change once: a run has an entry of its own for those that it made."""
    known = {one.task_id for one in waiting if one.kind == "review"}
    return [*waiting, *(one for one in reviews if one.task_id not in known)]


def _not_trusted(context: Context) -> list[str]:
    """What came with the project and waits for a person. Nothing is loaded where nothing came."""
    from binnacle.config.directories import brings_settings

    if not brings_settings(context.project.repo):
        return []
    from binnacle.app.trust_review import find_waiting

    return find_waiting(context.project)


@STATS.command("", "the project in numbers", "bn stats", view=_show_stats, needs=reads("project_progress"))
def stats(context: Context, args: Namespace) -> ProjectStats:  # noqa: ARG001
    with context.reading() as tx:
        return load_stats(tx)
