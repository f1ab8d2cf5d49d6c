"""`bn learning`: what was found out."""

from argparse import Namespace
from typing import Literal

from binnacle.cli.command import CommandAnswer, Group, arg, changes, reads
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.store import learnings
from binnacle.work.learning import Learning

LEARNING = Group("learning")

ID = arg("id", metavar="ID", help="the learning, such as bnl-1f3a")


class LearningListAnswer(CommandAnswer):
    """Learnings, the most trustworthy first."""

    learnings: list[Learning]


class LearningAnswer(CommandAnswer):
    """A learning."""

    learning: Learning


class AddedLearningAnswer(CommandAnswer):
    """A learning that was added, and what became of others."""

    outcome: Literal["added", "counted", "replaced"]
    learning: Learning
    was: str = ""
    """The text that it replaces."""

    pruned: tuple[str, ...] = ()
    """The ids of those that made room for it."""


def _show_added(answer: AddedLearningAnswer, screen: Screen) -> None:
    learning = answer.learning
    words = {
        "added": "added",
        "counted": f"known already, found out {learning.hit_count} times",
        "replaced": f"replaces: {answer.was}",
    }
    screen.line(f"{learning.id} {words[answer.outcome]}")
    screen.block(learning.text)


def _show_list(answer: LearningListAnswer, screen: Screen) -> None:
    if not answer.learnings:
        screen.line("no learnings; add one with: bn learning add 'what was found out'")
        return
    rows = (
        (
            one.id,
            one.feature or "(project)",
            f"{one.source}{', reviewed' if one.reviewed else ''}",
            f"×{one.hit_count}",
            one.text,
        )
        for one in answer.learnings
    )
    screen.table(rows, flexible=4, headings=("ID", "FEATURE", "SOURCE", "", "LEARNING"))


def _show_one(answer: LearningAnswer, screen: Screen) -> None:
    screen.line(f"{answer.learning.id}{' (reviewed)' if answer.learning.reviewed else ''}")
    screen.block(answer.learning.text)


@LEARNING.command(
    "add",
    "add a learning; a near duplicate is counted, a contradiction replaces",
    "bn learning add 'The test database needs a reset between runs' -f auth",
    arg("text", help="what was found out, in a sentence"),
    arg("-f", "--feature", completes="feature", help="the feature it is about; else the project"),
    arg("--reason", default="", help="how it is known"),
    arg("--task", metavar="ID", completes="task", help="the task it was found out in"),
    view=_show_added,
    needs=changes("learning_add"),
)
def add(context: Context, args: Namespace) -> AddedLearningAnswer:
    with context.writing() as tx:
        added = learnings.add(tx, args.text, feature=args.feature, reason=args.reason, task=args.task)
    return AddedLearningAnswer(outcome=added.outcome, learning=added.learning, was=added.was, pruned=added.pruned)


@LEARNING.command(
    "list",
    "the learnings, most trustworthy first",
    "bn learning list -f auth",
    arg("-f", "--feature", completes="feature", help="only of this feature"),
    arg("--project", action="store_true", help="only those of the complete project"),
    view=_show_list,
    needs=reads("learning_list"),
)
def list_learnings(context: Context, args: Namespace) -> LearningListAnswer:
    with context.reading() as tx:
        found = learnings.list_learnings(tx, feature=args.feature, project_only=args.project)
    return LearningListAnswer(learnings=found)


@LEARNING.command(
    "review",
    "mark a learning as checked: shown first, never pruned",
    "bn learning review bnl-1f3a",
    ID,
    view=_show_one,
    needs=changes("learning_review"),
)
def review(context: Context, args: Namespace) -> LearningAnswer:
    with context.writing() as tx:
        return LearningAnswer(learning=learnings.review(tx, args.id))


@LEARNING.command(
    "delete",
    "delete a learning that is no longer true",
    "bn learning delete bnl-1f3a",
    ID,
    view=_show_one,
    needs=changes("learning_delete"),
)
def delete(context: Context, args: Namespace) -> LearningAnswer:
    with context.writing() as tx:
        return LearningAnswer(learning=learnings.delete(tx, args.id))
