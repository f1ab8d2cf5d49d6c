"""Questions that agents ask and people answer."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from binnacle.errors import InvalidInput, NotFound, Refused, did_you_mean
from binnacle.store import attention, task_moves, tasks
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.report import MAX_WORDS_CHARACTERS, Question, choose_answer
from binnacle.work.task import Task
from binnacle.work.text import clean_lines, clean_optional_line, clean_text, fold

QUESTIONS = Table("question", Question, json=("options",), times=("created_at", "answered_at"), key=("id",))

OPEN = "answered_at is null"
MAX_OPTIONS = 20


class AnswerResult(NamedTuple):
    """The result of an answer."""

    question: Question
    task: Task
    """It is pending again if this was the last answer that it waited for."""

    still_open: int
    """Number of blocking questions that the task still waits for."""


def ask(
    tx: Writer,
    task_id: str,
    text: str,
    *,
    blocking: bool,
    options: Sequence[str] = (),
    preferred: str = "",
    kind: Literal["question", "stuck"] = "question",
) -> Question:
    """Adds a question, which waits for a person. `kind` is why: an agent asks, or agents gave the task up.

    If it was asked about the same task before, returns that one, with its answer if it has one.
    """
    wanted = Question(
        id=fresh_id(tx, "question", "bnq-"),
        task_id=task_id,
        session=tx.session,
        text=clean_text(text, what="question", limit=MAX_WORDS_CHARACTERS),
        options=clean_lines(options, what="options", limit=MAX_OPTIONS),
        preferred=clean_optional_line(preferred, what="preferred", limit=MAX_WORDS_CHARACTERS),
        blocking=blocking,
        asked_by=tx.by.name,
        created_at=tx.now,
    )
    if not wanted.text:
        raise InvalidInput("question is empty", hint="ask for what you need to know, in a sentence")
    known = next((one for one in list_task_questions(tx, task_id) if fold(one.text) == fold(wanted.text)), None)
    if known is None:
        QUESTIONS.insert(tx, [QUESTIONS.row(wanted)])
        tx.record("question", wanted.id, "asked", {"task": task_id, "text": wanted.text[:200], "blocking": blocking})
        _draw_attention(tx, wanted, kind)
        return wanted
    if blocking and not known.blocking and known.answered_at is None:
        QUESTIONS.update(tx, {"blocking": True}, "id = ?", known.id)
        tx.record("question", known.id, "updated", {"blocking": [False, True]})
    return get(tx, known.id)


def _draw_attention(tx: Writer, asked: Question, kind: Literal["question", "stuck"]) -> None:
    title, body = asked.text.partition("\n")[0], asked.text
    if kind == "stuck":
        title = f"agents gave up: {tasks.get(tx, asked.task_id).title}"
    attention.open_entry(
        tx,
        kind,
        title,
        body=body,
        session=asked.session,
        task_id=asked.task_id,
        question=asked.id,
        options=asked.options,
    )


def get(tx: Reader, text: str) -> Question:
    """The question with this id; `bnq-` may be left out."""
    wanted = f"bnq-{text.strip().casefold().removeprefix('bnq-')}"
    found = QUESTIONS.first(tx, "where id = ?", wanted)
    if found is None:
        near = did_you_mean(wanted, [one.id for one in list_questions(tx)[0]])
        raise NotFound(f"no question {text[:60]!r}", hint=near or steps.LIST_QUESTIONS)
    return found


def list_questions(tx: Reader, *, answered_too: bool = False, limit: int = 100) -> tuple[list[Question], int]:
    """The unanswered questions, blocking ones first, and the total number.

    With `answered_too`, all questions: open ones first, then the newest.
    """
    if answered_too:
        order = "order by case when answered_at is null then 0 else 1 end, number desc limit ?"
        found, where = QUESTIONS.select(tx, order, limit), "1 = 1"
    else:
        found, where = QUESTIONS.select(tx, f"where {OPEN} order by blocking desc, number limit ?", limit), OPEN
    return found, len(found) if len(found) < limit else tx.count(f"select count(*) from question where {where}")


def list_task_questions(tx: Reader, task_id: str, *, limit: int = 50) -> list[Question]:
    """The newest questions about a task, oldest first."""
    return QUESTIONS.select(tx, "where task_id = ? order by number desc limit ?", task_id, limit)[::-1]


def list_blocking(tx: Reader, task_id: str) -> list[Question]:
    """The unanswered questions that a task must wait for."""
    return QUESTIONS.select(tx, f"where task_id = ? and {OPEN} and blocking = 1 order by number", task_id)


def answer(tx: Writer, text: str, said: str) -> AnswerResult:
    """Answers a question. A task that waited only for this answer is pending again."""
    if tx.by.kind == "agent" or tx.session:
        raise Refused("only people may answer questions", hint=("leave it open", steps.answer(text[:60])))
    question = get(tx, text)
    if question.answered_at is not None:
        raise Refused(
            f"{question.id} was answered by {question.answered_by}: {question.answer[:100]}",
            hint=("leave it as it is", steps.comment(question.task_id, words="or add to it with a comment")),
        )
    words = choose_answer(question, said)
    columns = {"answer": words, "answered_by": tx.by.name, "answered_at": tx.now}
    QUESTIONS.update(tx, columns, "id = ?", question.id)
    tx.record("question", question.id, "answered", {"task": question.task_id, "answer": words[:200]})
    attention.close_question(tx, question.id, words)
    still_open = len(list_blocking(tx, question.task_id))
    task = tasks.get(tx, question.task_id)
    if task.status == "needs_input" and question.blocking and not still_open:
        task = task_moves.reopen(tx, task.id, force=True).task
    return AnswerResult(get(tx, question.id), task, still_open)
