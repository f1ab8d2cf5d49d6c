"""`bn ask`: the questions of agents, for people to answer."""

from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen
from binnacle.store import questions, tasks
from binnacle.work.report import Question
from binnacle.work.task import Brief, brief

ASK = Group("ask")

ID = arg("id", metavar="ID", help="the question, such as bnq-1f3a; bnq- may be left out")


class QuestionListAnswer(CommandAnswer):
    """Questions of agents."""

    questions: list[Question]
    total: int


class QuestionAnswer(CommandAnswer):
    """A question and the task it is about."""

    question: Question
    task: Brief


class AnsweredAnswer(CommandAnswer):
    """A question that was answered, and how its task stands now."""

    question: Question
    task: Brief
    still_open: int
    """Questions that the task still waits for."""


def _show_list(answer: QuestionListAnswer, screen: Screen) -> None:
    if not answer.questions:
        screen.line("no questions")
        return
    rows = ((one.id, one.task_id, _state(one), one.text) for one in answer.questions)
    screen.table(rows, flexible=3, headings=("ID", "TASK", "", "QUESTION"))
    screen.line("answer one with: bn ask answer ID TEXT")


def _state(question: Question) -> str:
    return "answered" if question.answered_at else "holds it up" if question.blocking else "open"


def _show_one(answer: QuestionAnswer, screen: Screen) -> None:
    from binnacle.cli.views import fields, prose

    question = answer.question
    screen.heading(f"{question.id}  {_state(question)}")
    pairs = (
        ("task", f"{answer.task.id} {answer.task.title} ({answer.task.status})"),
        ("asked by", question.asked_by),
        ("asked", question.created_at),
        ("answered by", question.answered_by),
        ("answered", question.answered_at),
    )
    fields(pairs, screen)
    prose("Question", question.text, screen)
    prose("Options", "\n".join(f"{number}. {one}" for number, one in enumerate(question.options, 1)), screen)
    prose("The agent would", question.preferred, screen)
    prose("Answer", question.answer, screen)


def _show_answered(answer: AnsweredAnswer, screen: Screen) -> None:
    task = answer.task
    screen.line(f"{answer.question.id} answered: {answer.question.answer}")
    more = f"; it still waits for {answer.still_open} answer(s)" if answer.still_open else ""
    screen.line(f"{task.id} {task.title} is {task.status}{more}")


@ASK.command(
    "list",
    "the questions that wait for an answer",
    "bn ask list",
    arg("--all", action="store_true", help="the answered ones as well"),
    limit_arg(50),
    view=_show_list,
    needs=READS,
)
def list_questions(context: Context, args: Namespace) -> QuestionListAnswer:
    with context.reading() as tx:
        found, total = questions.list_questions(tx, answered_too=args.all, limit=args.limit)
    return QuestionListAnswer(questions=found, total=total)


@ASK.command(
    "show", "a question with its options and its answer", "bn ask show bnq-1f3a", ID, view=_show_one, needs=READS
)
def show(context: Context, args: Namespace) -> QuestionAnswer:
    with context.reading() as tx:
        question = questions.get(tx, args.id)
        return QuestionAnswer(question=question, task=brief(tasks.get(tx, question.task_id)))


@ASK.command(
    "answer",
    "answer a question; the next session on the task reads it",
    "bn ask answer bnq-1f3a 'Keep the old column until the next release'",
    ID,
    arg("text", nargs="+", metavar="TEXT", help="the number or words of an option, or your own; - reads stdin"),
    view=_show_answered,
    needs=by_person("answer a question"),
)
def answer(context: Context, args: Namespace) -> AnsweredAnswer:
    said = context.read_input("-") if args.text == ["-"] else " ".join(args.text)
    with context.writing() as tx:
        answered = questions.answer(tx, args.id, said)
    return AnsweredAnswer(question=answered.question, task=brief(answered.task), still_open=answered.still_open)
