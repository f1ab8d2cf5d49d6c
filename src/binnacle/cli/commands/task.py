"""`bn task …`: the tasks themselves. How they move is in `moves`, what they wait for in `dep`."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import msgspec

from binnacle.cli.command import CommandAnswer, CommandNeeds, Group, ToolCall, arg, call, calls, reading, reads
from binnacle.cli.commands.ready import FILTERS, TaskPageAnswer, filter_of
from binnacle.cli.context import Context
from binnacle.cli.paging import OFFSET, limit_arg
from binnacle.cli.requested_done import prove_requested
from binnacle.cli.screen import Screen
from binnacle.cli.tags import ADD_TAG, NEW_TAG, REMOVE_TAG, TAG, removed_tags, retag
from binnacle.cli.task_batch import (
    IDS,
    BatchAnswer,
    ChangedTaskAnswer,
    EachChanged,
    change_each,
    changed_task,
    needs_of_each,
    read_each,
    show_changed_task,
    view_each,
)
from binnacle.errors import InvalidInput, UsageError
from binnacle.store import comments, queue, task_moves, tasks
from binnacle.store.transaction import Writer
from binnacle.work.evidence import LEVEL_WORDS
from binnacle.work.journal import Comment
from binnacle.work.status import Provenance, parse_kind, parse_priority, parse_status
from binnacle.work.task import Brief, NewTask, brief

if TYPE_CHECKING:
    from binnacle.store.views.task_details import TaskDetails

TASK = Group("task")

ID = arg("id", metavar="ID", completes="task", help="the task; three digits of its id suffice")
FORCE = arg("--force", action="store_true", help="skip the check")
FENCE = arg("--fence", type=int, metavar="N", help="number of your claim; refused if you lost it")

FIELDS = (
    arg("-d", "--description", help="what to do; - reads it from stdin"),
    arg("-p", "--priority", completes="priority", help="0 critical, 1 high, 2 medium, 3 low, 4 backlog; or the name"),
    arg("-k", "--kind", completes="kind", help="task, bug or idea"),
    arg("-f", "--feature", completes="feature", help="the part of the product it belongs to"),
    arg("--discipline", completes="discipline", help="who should do it"),
    arg("--parent", metavar="ID", completes="task", help="the task it is a part of"),
    arg("-a", "--accept", action="append", metavar="TEXT", help="an acceptance criterion; may be repeated"),
    arg("--file", action="append", metavar="PATH", help="a file worth reading first; may be repeated"),
    arg("--artifact", action="append", metavar="PATH", help="a file it should produce; may be repeated"),
    arg("--hints", help="what helps to do it"),
    arg("--pseudocode", help="how to do it, in steps"),
    arg("--turns", type=int, metavar="N", help="how many turns of an agent it should take"),
    arg(
        "--covers",
        action="append",
        metavar="REQUIREMENT",
        help="a requirement of the specification that it meets, such as R12; may be repeated",
    ),
    arg("--check", action="append", metavar="NAME", help="a check that has to pass before it is done; may be repeated"),
)

_NAMES = {
    "description": "description",
    "hints": "hints",
    "pseudocode": "pseudocode",
    "feature": "feature",
    "discipline": "discipline",
    "parent": "parent",
    "tag": "tags",
    "accept": "acceptance_criteria",
    "file": "context_files",
    "artifact": "output_artifacts",
    "turns": "estimated_turns",
    "covers": "covers",
    "check": "checks",
}
"""Option → field, where the value needs no parsing."""


class TasksAnswer(CommandAnswer):
    """Tasks that were added or moved."""

    tasks: list[Brief]


class AddedTasksAnswer(TasksAnswer):
    """Tasks that were added, and those that exist already."""

    skipped: list[tasks.SkippedTask] | None = None


class CommentAnswer(CommandAnswer):
    """A comment that was added."""

    comment: Comment


def fields_of(context: Context, args: Namespace) -> dict[str, Any]:
    """The fields that the options set. An empty text or list entry clears a field."""
    given = {field: getattr(args, option) for option, field in _NAMES.items() if getattr(args, option) is not None}
    found = {field: tuple(value) if isinstance(value, list) else value for field, value in given.items()}
    if args.priority is not None:
        found["priority"] = parse_priority(args.priority)
    if args.kind is not None:
        found["kind"] = parse_kind(args.kind)
    if found.get("description") == "-":
        found["description"] = context.read_input("-")
    return found


def _needs_of_add(args: Namespace) -> CommandNeeds:
    steps: list[tuple[ToolCall, ...]] = [(ToolCall("task_add"),)]
    if args.source is None:
        status = "draft" if args.draft else args.status
        more = {"status": status, "depends_on": args.after, **_options(args)}
        given = [call("task_add", title=title, **more).arguments for title in args.titles]
        steps = [(ToolCall("task_add", {"tasks": given, **({"duplicates": "skip"} if args.skip_duplicates else {})}),)]
    return CommandNeeds((*steps, *([(ToolCall("queue_add"),)] if args.queue else [])))


def _needs_of_update(args: Namespace) -> CommandNeeds:
    more = {name: getattr(args, name) for name in ("title", "status", "fence", "force")} | {
        "reason": args.reason or None
    }
    said = _options(args)
    if tags := [*(args.tag or ()), *(args.add_tag or ()), *(args.remove_tag or ())]:
        said["tags"] = tags
    found = [call("task_update", id=args.id, **more, **said)]
    if args.status is not None and not said and args.title is None:
        found.append(call("task_status", id=args.id, **more))
    return calls(*found)


def _needs_of_move(args: Namespace) -> CommandNeeds:
    given = [{"id": one, "feature": args.to, "force": args.force} for one in args.ids]
    return CommandNeeds(tuple((call("task_move", **one), call("task_update", **one)) for one in given))


def _options(args: Namespace) -> dict[str, Any]:
    """What the options say of a task, in the words of the tools."""
    return {
        field: value
        for option, field in (*_NAMES.items(), ("priority", "priority"), ("kind", "kind"))
        if (value := getattr(args, option)) is not None
    }


def _show_tasks(answer: TasksAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer.tasks, len(answer.tasks), screen, empty="nothing to add")


def _show_added(answer: AddedTasksAnswer, screen: Screen) -> None:
    if answer.tasks or not answer.skipped:
        _show_tasks(answer, screen)
    for one in answer.skipped or ():
        screen.line(f"skipped {one.title!r}: {one.existing} exists, {one.existing_title!r}")
    if len(answer.tasks) > 1:
        screen.line(f"{len(answer.tasks)} tasks added")


def _show_list(answer: TaskPageAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    offset = answer.offset
    empty = "no tasks; add one with: bn task add 'TITLE'"
    if offset and answer.total:
        empty = f"no more tasks: there are {answer.total}"
    task_table(answer.tasks, answer.total, screen, empty=empty, offset=offset)


def _show_deleted(answer: EachChanged, screen: Screen) -> None:
    for one in answer.results if isinstance(answer, BatchAnswer) else [answer]:
        screen.line(f"deleted {one.task.id} {one.task.title}")
    if answer.undo:
        screen.line(screen.styled(f"restore it with: {answer.undo}", "dim"))


def _show_comment(answer: CommentAnswer, screen: Screen) -> None:
    screen.line(f"{answer.comment.id} on {answer.comment.task_id}")


def _show_details(answer: "TaskDetails", screen: Screen) -> None:
    from binnacle.cli.task_view import show_details

    show_details(answer, screen)


@TASK.command(
    "add",
    "add a task, several that share the options, or a batch from JSON",
    "bn task add 'Fix the login form' 'Test the login form' -p high +login",
    arg("titles", nargs="*", metavar="TITLE", help="what it is, in a line; several titles are several tasks"),
    *FIELDS,
    NEW_TAG,
    arg("--after", action="append", metavar="ID", completes="task", help="a task it depends on; may be repeated"),
    arg("--reason", default="", help="why it depends on them"),
    arg("--draft", action="store_true", help="an idea that needs details; cannot be taken yet"),
    arg("--status", completes="status", help="the status it begins with (pending)"),
    arg("-q", "--queue", action="store_true", help="put it into the queue"),
    arg("--each", action="store_true", help="every word is the title of a task"),
    arg("--skip-duplicates", action="store_true", help="leave out those whose titles open tasks of the feature have"),
    arg(
        "--from", dest="source", metavar="FILE", help="a JSON array of tasks; - for stdin; '#1' names the first of them"
    ),
    view=_show_added,
    needs=_needs_of_add,
)
def add(context: Context, args: Namespace) -> AddedTasksAnswer:

    drafts = _drafts(context, args)
    with context.writing() as tx:
        made, skipped = (
            tasks.add_new(tx, drafts) if args.skip_duplicates else tasks.AddedTasks(tasks.add(tx, drafts), [])
        )
        if args.queue:
            queue.add(tx, [task.id for task in made])
            made = [tasks.get(tx, task.id) for task in made]
    return AddedTasksAnswer(tasks=[brief(task) for task in made], skipped=skipped or None)


def _drafts(context: Context, args: Namespace) -> list[NewTask]:
    provenance: Provenance = "agent" if context.actor.kind == "agent" else "human"
    if args.source is not None:
        if args.titles:
            raise UsageError("bn task add: a title and --from exclude each other", hint="give one of them")
        text = context.read_input(args.source)
        try:
            found = msgspec.json.decode(text.encode("utf-8", "replace"), type=list[NewTask])
        except msgspec.DecodeError as error:
            hint = 'an array such as [{"title": "one"}, {"title": "two", "depends_on": ["#1"]}]'
            raise InvalidInput(f"not a list of tasks: {error}", hint=hint) from error
        return [_within_plan(context, msgspec.structs.replace(draft, provenance=provenance)) for draft in found]
    if not args.titles:
        raise UsageError("bn task add: a title is missing", hint="bn task add 'what is to be done'")
    _check_quoted(args)
    status = "draft" if args.draft else parse_status(args.status or "pending")
    after = tuple(args.after or ())
    fields = fields_of(context, args)
    shared = {"status": status, "depends_on": after, "reason": args.reason, "provenance": provenance, **fields}
    return [_within_plan(context, NewTask(title=title, **shared)) for title in args.titles]


def _check_quoted(args: Namespace) -> None:
    """Refuses a title without quotes, which the shell has taken apart: every word of it would become a task."""
    if len(args.titles) > 1 and not args.each and not any(" " in title.strip() for title in args.titles):
        text = " ".join(args.titles)
        raise UsageError(
            f"bn task add: one title or {len(args.titles)}? {text!r}",
            hint=f"quote a title of several words: bn task add '{text}'; --each adds a task for every word",
        )


def _within_plan(context: Context, draft: NewTask) -> NewTask:
    """A new task as the plan of the session wants it: in which status, and in which feature if none is named."""
    if (rights := context.rights) is None:
        return draft
    status, feature = rights.created_status or draft.status, draft.feature or rights.feature
    return msgspec.structs.replace(draft, status=status, feature=feature)


@TASK.command(
    "list",
    "list tasks, most urgent first; closed ones only with --all",
    "bn task list -H --status blocked -f auth",
    arg("-s", "--status", action="append", completes="status", help="only in this status; may be repeated"),
    *FILTERS,
    arg("--parent", metavar="ID", completes="task", help="only parts of this task"),
    arg("--mine", action="store_true", help="only what you hold"),
    arg("--all", action="store_true", help="the closed ones too"),
    arg(
        "--level",
        action="append",
        choices=tuple(filter(None, LEVEL_WORDS)),
        help="only what is done, and how that is known; may be repeated",
    ),
    limit_arg(100),
    OFFSET,
    view=_show_list,
    needs=reads("task_list"),
)
def list_tasks(context: Context, args: Namespace) -> TaskPageAnswer:

    mine = context.actor.name if args.mine else None
    with context.reading() as tx:
        which = msgspec.structs.replace(
            filter_of(args),
            status=tuple(parse_status(word) for word in args.status or ()),
            parent=tasks.resolve(tx, args.parent) if args.parent else None,
            claimed_by=mine,
            levels=tuple(args.level or ()),
            closed_too=args.all,
        )
        page, total = tasks.list_tasks(tx, which, limit=args.limit, offset=args.offset)
    return TaskPageAnswer(tasks=[brief(task) for task in page], total=total, offset=args.offset)


@TASK.command(
    "show",
    "everything about a task, or about several",
    "bn task show 1f3 -H",
    IDS,
    view=view_each(_show_details, between=""),
    needs=needs_of_each(lambda args: reading(call("task_get", id=args.id))),
)
def show(context: Context, args: Namespace) -> "TaskDetails | BatchAnswer[TaskDetails]":
    from binnacle.store.views.task_details import load_details

    return read_each(context, args, load_details)


@TASK.command(
    "update",
    "change the fields of tasks; a list replaces the old one, '' clears a field",
    "bn task update 1f3 2a4 -p critical +urgent -someday",
    IDS,
    arg("--title", help="a new title"),
    *FIELDS,
    TAG,
    ADD_TAG,
    REMOVE_TAG,
    arg("-s", "--status", completes="status", help="a new status, by the rules of the move that leads there"),
    arg("--reason", default="", help="the reason, for a status that needs one"),
    FENCE,
    FORCE,
    view=view_each(show_changed_task),
    needs=needs_of_each(_needs_of_update),
)
def update(context: Context, args: Namespace) -> EachChanged:

    changes = fields_of(context, args)
    add = args.add_tag or ()
    if args.title is not None:
        if len(args.ids) > 1:
            raise UsageError("bn task update: several tasks cannot have one title", hint="name one task with --title")
        changes["title"] = args.title
    if not changes and not add and not args.remove_tag and args.status is None:
        raise UsageError("bn task update: nothing to change", hint="see: bn task update --help")
    status = parse_status(args.status) if args.status is not None else None

    def change(tx: Writer, text: str) -> ChangedTaskAnswer:
        task = tasks.get(tx, text)
        tags = changes.get("tags", task.tags)
        remove = removed_tags(args.remove_tag or (), task.tags)
        wanted = {**changes, "tags": retag(tags, add=add, remove=remove)} if add or remove else changes
        move = task_moves.TaskMove(tasks.update(tx, task.id, wanted, fence=args.fence, force=args.force))
        if status is not None:
            move = task_moves.set_status(tx, task.id, status, reason=args.reason, fence=args.fence, force=args.force)
        missing = [f"{task.id} has no tag {name!r}" for name in remove if name.casefold() not in tags]
        warnings = (*move.warnings, *missing)
        return changed_task(move.task, unblocked=move.unblocked, warnings=warnings, requested=move.request)

    return prove_requested(context, change_each(context, args, change))


@TASK.command(
    "move",
    "move tasks to another feature",
    "bn task move 1f3 2a4 --to billing",
    arg("ids", nargs="+", metavar="ID", completes="task", help="the tasks"),
    arg("--to", required=True, metavar="FEATURE", completes="feature", help="where they belong"),
    FORCE,
    view=_show_tasks,
    needs=_needs_of_move,
)
def move(context: Context, args: Namespace) -> TasksAnswer:

    with context.writing() as tx:
        moved = [tasks.update(tx, text, {"feature": args.to}, force=args.force) for text in args.ids]
    return TasksAnswer(tasks=[brief(task) for task in moved])


@TASK.command(
    "delete",
    "delete tasks that nothing refers to; bn undo restores them",
    "bn task delete 1f3",
    IDS,
    FENCE,
    FORCE,
    view=_show_deleted,
    needs=needs_of_each(lambda args: calls(call("task_delete", id=args.id, fence=args.fence, force=args.force))),
)
def delete(context: Context, args: Namespace) -> EachChanged:
    from binnacle.store import task_deletion

    answer = change_each(
        context,
        args,
        lambda tx, one: changed_task(task_deletion.delete_task(tx, one, fence=args.fence, force=args.force)),
    )
    # What an agent deletes is not brought back by its own shell: it is not told how.
    if context.human and context.actor.kind == "human":
        return msgspec.structs.replace(answer, undo="bn undo")
    return answer


@TASK.command(
    "comment",
    "comment on a task; the comments are the history of its attempts",
    "bn task comment 1f3 'The test server refuses the token; see notes'",
    ID,
    arg("text", help="the comment; - reads it from stdin"),
    view=_show_comment,
    needs=lambda args: calls(call("comment_add", task_id=args.id, body=args.text)),
)
def comment(context: Context, args: Namespace) -> CommentAnswer:

    body = context.read_input("-") if args.text == "-" else args.text
    with context.writing() as tx:
        return CommentAnswer(comment=comments.add(tx, args.id, body))
