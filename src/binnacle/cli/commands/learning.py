"""`bn learning`: what was found out."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import Group, arg, changes, reads
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.store import learnings

LEARNING = Group("learning")

ID = arg("id", metavar="ID", help="the learning, such as bnl-1f3a")


def _show_added(answer: Any, screen: Screen) -> None:
    learning = answer["learning"]
    words = {
        "added": "added",
        "counted": f"known already, found out {learning.hit_count} times",
        "replaced": f"replaces: {answer.get('was')}",
    }
    screen.line(f"{learning.id} {words[answer['outcome']]}")
    screen.block(learning.text)


def _show_list(answer: Any, screen: Screen) -> None:
    if not answer["learnings"]:
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
        for one in answer["learnings"]
    )
    screen.table(rows, flexible=4, headings=("ID", "FEATURE", "SOURCE", "", "LEARNING"))


def _show_one(answer: Any, screen: Screen) -> None:
    screen.line(f"{answer['learning'].id}{' (reviewed)' if answer['learning'].reviewed else ''}")
    screen.block(answer["learning"].text)


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
def add(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        added = learnings.add(tx, args.text, feature=args.feature, reason=args.reason, task=args.task)
    answer: dict[str, Any] = {"outcome": added.outcome, "learning": added.learning}
    if added.was:
        answer["was"] = added.was
    return answer | ({"pruned": list(added.pruned)} if added.pruned else {})


@LEARNING.command(
    "list",
    "the learnings, most trustworthy first",
    "bn learning list -f auth",
    arg("-f", "--feature", completes="feature", help="only of this feature"),
    arg("--project", action="store_true", help="only those of the project as a whole"),
    view=_show_list,
    needs=reads("learning_list"),
)
def list_learnings(context: Context, args: Namespace) -> Any:
    with context.reading() as tx:
        return {"learnings": learnings.list_learnings(tx, feature=args.feature, project_only=args.project)}


@LEARNING.command(
    "review",
    "mark a learning as checked: shown first, never pruned",
    "bn learning review bnl-1f3a",
    ID,
    view=_show_one,
    needs=changes("learning_review"),
)
def review(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        return {"learning": learnings.review(tx, args.id)}


@LEARNING.command(
    "delete",
    "delete a learning that no longer holds",
    "bn learning delete bnl-1f3a",
    ID,
    view=_show_one,
    needs=changes("learning_delete"),
)
def delete(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        return {"learning": learnings.delete(tx, args.id)}
