"""What waits for a person, one entry for one cause, and the answers that people give on the page.

Most causes are in the store (`store.views.open_causes`). What waits for trust is found in files, and so are the servers
that nobody signed in to. Whoever only counts gets what was found there some seconds ago.
"""

import time
from typing import NamedTuple

from msgspec import Struct

from binnacle.app.waiting_logins import WaitingLogin, find_waiting_logins
from binnacle.config.directories import brings_settings
from binnacle.errors import InvalidInput
from binnacle.store import attention_answers, questions, task_moves, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views import open_causes
from binnacle.store.views.open_causes import CauseAnswer, OpenCause, OpenCount
from binnacle.web.api.needs_trust import TrustCause, find_trust_cause
from binnacle.web.endpoints import NoArguments, acts, reads
from binnacle.web.page_project import PageProject
from binnacle.work.run import Attention
from binnacle.work.status import Status

LOOK_AGAIN_SECONDS = 5.0
"""How long what was found in files is taken for current."""

LOGINS_LOOK_AGAIN_SECONDS = 60.0
"""The same for logins: a keyring may ask a person to unlock it."""


class NeedsYou(Struct, frozen=True, kw_only=True):
    """Everything that waits for a person."""

    causes: tuple[OpenCause, ...]
    """The most urgent first."""

    trust: TrustCause | None
    logins: tuple[WaitingLogin, ...]
    count: int
    """Of all causes, also those beyond the most that are listed."""


class NeedsCount(Struct, frozen=True):
    """How many things wait for a person."""

    count: int


class CausesAsked(Struct, frozen=True, kw_only=True):
    """Causes that the page has shown."""

    ids: tuple[str, ...]


class CauseAnswers(Struct, frozen=True):
    """How they were answered, as far as they are over."""

    answers: tuple[CauseAnswer, ...]


class AnswerCause(Struct, frozen=True, kw_only=True):
    """The answer of a person: yes, no or always to a permission, words or an option to a question, none to an end."""

    id: str
    answer: str = ""


class CancelStuckTask(Struct, frozen=True, kw_only=True):
    """That a task which agents gave up is not to be done, and why."""

    id: str
    reason: str


class AnsweredCause(Struct, frozen=True, kw_only=True):
    """An answer that was kept."""

    id: str
    answer: str
    answered_by: str
    task_id: str = ""
    task_status: Status | None = None


class _Look(NamedTuple):
    """What was found in files."""

    trust: TrustCause | None
    logins: tuple[WaitingLogin, ...]
    at: float
    logins_at: float


_looks: dict[str, _Look] = {}
"""By repository. A page has few."""


async def _look(project: PageProject, *, is_fresh: bool) -> _Look:
    """What was found in files. `is_fresh` looks for trust again; logins are always those of the last minute."""
    repo, now = project.project.repo, time.monotonic()
    known = _looks.get(repo)
    if known is not None and not is_fresh and now < known.at + LOOK_AGAIN_SECONDS:
        return known
    trust = await find_trust_cause(project) if brings_settings(repo) else None
    if known is not None and now < known.logins_at + LOGINS_LOOK_AGAIN_SECONDS:
        logins, logins_at = known.logins, known.logins_at
    else:
        logins, logins_at = tuple(await find_waiting_logins(project.project)), now
    _looks[repo] = _Look(trust, logins, now, logins_at)
    return _looks[repo]


async def count_waiting(project: PageProject) -> OpenCount:
    """How many things wait for a person in a project."""
    found = await _look(project, is_fresh=False)
    counted = await project.read(open_causes.count_open)
    return counted._replace(total=counted.total + (found.trust is not None) + len(found.logins))


@reads("needs_you_count")
async def read_count(project: PageProject, asked: NoArguments) -> NeedsCount:  # noqa: ARG001
    return NeedsCount((await count_waiting(project)).total)


@reads("needs_you")
async def read_needs_you(project: PageProject, asked: NoArguments) -> NeedsYou:  # noqa: ARG001
    found = await _look(project, is_fresh=True)
    causes, count = await project.read(lambda tx: (open_causes.list_open(tx), open_causes.count_open(tx).total))
    return NeedsYou(
        causes=tuple(causes),
        trust=found.trust,
        logins=found.logins,
        count=count + (found.trust is not None) + len(found.logins),
    )


@reads("cause_answers")
async def read_answers(project: PageProject, asked: CausesAsked) -> CauseAnswers:
    return CauseAnswers(tuple(await project.read(lambda tx: open_causes.find_answers(tx, asked.ids))))


@acts("answer_cause")
async def answer_cause(project: PageProject, asked: AnswerCause) -> AnsweredCause:
    """Keeps an answer. A review is decided with the commit that the person saw: `accept_review`, `reject_review`."""
    await project.read(lambda tx: None)  # noqa: ARG005 - closes what agents asked that are gone: nobody answers them
    return await project.write(lambda tx: _answer(tx, asked.id, asked.answer))


@acts("cancel_stuck_task")
async def cancel_stuck_task(project: PageProject, asked: CancelStuckTask) -> AnsweredCause:
    """Cancels a task that agents gave up, and answers what they asked with that."""

    def cancel(tx: Writer) -> AnsweredCause:
        reason = asked.reason.strip()
        if not reason:
            raise InvalidInput("a reason is needed to cancel a task", hint="say why it will not be done")
        answered = _answer(tx, asked.id, f"Not to be done: {reason}")
        if not answered.task_id:
            raise InvalidInput(f"{asked.id} is about no task", hint="answer it instead")
        task = task_moves.skip(tx, answered.task_id, reason=reason, force=True).task
        return AnsweredCause(
            id=answered.id,
            answer=answered.answer,
            answered_by=answered.answered_by,
            task_id=task.id,
            task_status=task.status,
        )

    return await project.write(cancel)


def _answer(tx: Writer, text: str, said: str) -> AnsweredCause:
    entry = attention_answers.find_entry(tx, text)
    if entry is None:
        return _answer_question(tx, text, said)
    if entry.kind == "review":
        raise InvalidInput(f"{entry.id} is a review", hint="accept exactly one commit, or ask for changes of it")
    return _describe(tx, attention_answers.answer(tx, entry, said))


def _answer_question(tx: Writer, text: str, said: str) -> AnsweredCause:
    """Answers a question of an older store, which has no entry."""
    answered = questions.answer(tx, text, said)
    question = answered.question
    return AnsweredCause(
        id=question.id,
        answer=question.answer,
        answered_by=question.answered_by or "",
        task_id=answered.task.id,
        task_status=answered.task.status,
    )


def _describe(tx: Reader, entry: Attention) -> AnsweredCause:
    return AnsweredCause(
        id=entry.id,
        answer=entry.answer,
        answered_by=entry.answered_by or "",
        task_id=entry.task_id or "",
        task_status=tasks.get(tx, entry.task_id).status if entry.task_id else None,
    )
