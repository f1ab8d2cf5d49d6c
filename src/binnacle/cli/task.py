"""`bn task …`: the tasks themselves. How they move is in `moves`, what they wait for in `dep`."""

from argparse import Namespace
from typing import Any

import msgspec

from binnacle.cli.command import Group, Needs, ToolCall, arg, call, calls, reading, reads
from binnacle.cli.context import Context
from binnacle.cli.ready import FILTERS, filter_of
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput, UsageError
from binnacle.work.status import Provenance, parse_kind, parse_priority, parse_status
from binnacle.work.task import NewTask, Task, brief

TASK = Group("task")

ID = arg("id", metavar="ID", completes="task", help="the task; three digits of its id suffice")
FORCE = arg("--force", action="store_true", help="do it although a rule says no")
FENCE = arg("--fence", type=int, metavar="N", help="number of your claim; refused if it was lost")

FIELDS = (
    arg("-d", "--description", help="what is to be done; - reads it from stdin"),
    arg("-p", "--priority", completes="priority", help="0 critical, 1 high, 2 medium, 3 low, 4 backlog; or the name"),
    arg("-k", "--kind", completes="kind", help="task, bug or idea"),
    arg("-f", "--feature", completes="feature", help="the part of the product it belongs to"),
    arg("--discipline", completes="discipline", help="who should do it"),
    arg("--parent", metavar="ID", completes="task", help="the task it is a part of"),
    arg("-t", "--tag", action="append", metavar="TAG", help="a tag; may be repeated"),
    arg("-a", "--accept", action="append", metavar="TEXT", help="an acceptance criterion; may be repeated"),
    arg("--file", action="append", metavar="PATH", help="a file worth reading first; may be repeated"),
    arg("--artifact", action="append", metavar="PATH", help="a file it should produce; may be repeated"),
    arg("--hints", help="what helps whoever does it"),
    arg("--pseudocode", help="how it is to be done, in steps"),
    arg("--turns", type=int, metavar="N", help="how many turns of an agent it should take"),
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
}
"""Option → field, where the value needs no parsing."""


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


def _needs_of_add(args: Namespace) -> Needs:
    steps: list[tuple[ToolCall, ...]] = [(ToolCall("task_add"),)]
    if args.source is None:
        status = "draft" if args.draft else args.status
        given = call("task_add", title=args.title, status=status, depends_on=args.after, **_options(args))
        steps = [(ToolCall("task_add", {"tasks": [given.arguments]}),)]
    return Needs((*steps, *([(ToolCall("queue_add"),)] if args.queue else [])))


def _needs_of_update(args: Namespace) -> Needs:
    more = {"title": args.title, "status": args.status, "reason": args.reason, "fence": args.fence, "force": args.force}
    found = [call("task_update", id=args.id, **more, **_options(args))]
    if args.status is not None and not _options(args) and args.title is None:
        found.append(call("task_status", id=args.id, **more))
    return calls(*found)


def _needs_of_move(args: Namespace) -> Needs:
    given = [{"id": one, "feature": args.to, "force": args.force} for one in args.ids]
    return Needs(tuple((call("task_move", **one), call("task_update", **one)) for one in given))


def _options(args: Namespace) -> dict[str, Any]:
    """What the options say of a task, in the words of the tools."""
    return {
        field: value
        for option, field in (*_NAMES.items(), ("priority", "priority"), ("kind", "kind"))
        if (value := getattr(args, option)) is not None
    }


def _show_added(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer["tasks"], len(answer["tasks"]), screen, empty="nothing to add")


def _show_list(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer["tasks"], answer["total"], screen, empty="no tasks; add one with: bn task add 'TITLE'")


def _show_changed(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import changed

    changed(answer, screen)


def _show_details(answer: Any, screen: Screen) -> None:
    from binnacle.cli.detail import show_details

    show_details(answer, screen)


@TASK.command(
    "add",
    "add a task, or a whole batch from JSON",
    "bn task add 'Mend the login form' -p high -f auth --after bn-1f3a",
    arg("title", nargs="?", help="what it is, in a line"),
    *FIELDS,
    arg("--after", action="append", metavar="ID", completes="task", help="a task it depends on; may be repeated"),
    arg("--reason", default="", help="why it depends on them"),
    arg("--draft", action="store_true", help="an idea to be worked out, not ready to be taken"),
    arg("--status", completes="status", help="the status it begins with (pending)"),
    arg("-q", "--queue", action="store_true", help="put it into the queue"),
    arg(
        "--from", dest="source", metavar="FILE", help="a JSON array of tasks; - for stdin; '#1' names the first of them"
    ),
    view=_show_added,
    needs=_needs_of_add,
)
def add(context: Context, args: Namespace) -> Any:
    from binnacle.store import queue, tasks

    drafts = _drafts(context, args)
    with context.writing() as tx:
        made = tasks.add(tx, drafts)
        if args.queue:
            queue.add(tx, [task.id for task in made])
            made = [tasks.get(tx, task.id) for task in made]
    return {"tasks": [brief(task) for task in made]}


def _drafts(context: Context, args: Namespace) -> list[NewTask]:
    provenance: Provenance = "agent" if context.actor.kind == "agent" else "human"
    if args.source is not None:
        if args.title is not None:
            raise UsageError("bn task add: a title and --from exclude each other", hint="give one of them")
        text = context.read_input(args.source)
        try:
            found = msgspec.json.decode(text.encode("utf-8", "replace"), type=list[NewTask])
        except msgspec.DecodeError as error:
            hint = 'an array such as [{"title": "one"}, {"title": "two", "depends_on": ["#1"]}]'
            raise InvalidInput(f"not a list of tasks: {error}", hint=hint) from error
        return [_within_plan(context, msgspec.structs.replace(draft, provenance=provenance)) for draft in found]
    if args.title is None:
        raise UsageError("bn task add: a title is missing", hint="bn task add 'what is to be done'")
    status = "draft" if args.draft else parse_status(args.status or "pending")
    after = tuple(args.after or ())
    fields = fields_of(context, args)
    made = NewTask(
        title=args.title, status=status, depends_on=after, reason=args.reason, provenance=provenance, **fields
    )
    return [_within_plan(context, made)]


def _within_plan(context: Context, draft: NewTask) -> NewTask:
    """A new task as the plan of the session wants it: in which status, and in which feature if none is named."""
    if (rights := context.rights) is None:
        return draft
    status, feature = rights.created_status or draft.status, draft.feature or rights.feature
    return msgspec.structs.replace(draft, status=status, feature=feature)


@TASK.command(
    "list",
    "list tasks, most urgent first; the closed ones only when asked for",
    "bn task list -H --status blocked -f auth",
    arg("-s", "--status", action="append", completes="status", help="only in this status; may be repeated"),
    *FILTERS,
    arg("--parent", metavar="ID", completes="task", help="only parts of this task"),
    arg("--mine", action="store_true", help="only what you hold"),
    arg("--all", action="store_true", help="the closed ones too"),
    arg("-n", "--limit", type=int, default=100, metavar="N", help="how many to show (100)"),
    arg("--offset", type=int, default=0, metavar="N", help="how many to pass over"),
    view=_show_list,
    needs=reads("task_list"),
)
def list_tasks(context: Context, args: Namespace) -> Any:
    from binnacle.store import tasks

    if args.limit < 0 or args.offset < 0:
        raise UsageError("bn task list: a limit cannot be negative", hint="bn task list -n 20")
    mine = context.actor.name if args.mine else None
    with context.reading() as tx:
        which = msgspec.structs.replace(
            filter_of(args),
            status=tuple(parse_status(word) for word in args.status or ()),
            parent=tasks.resolve(tx, args.parent) if args.parent else None,
            claimed_by=mine,
            closed_too=args.all,
        )
        page, total = tasks.listed(tx, which, limit=args.limit, offset=args.offset)
    return {"tasks": [brief(task) for task in page], "total": total}


@TASK.command(
    "show",
    "everything about a task",
    "bn task show 1f3 -H",
    ID,
    view=_show_details,
    needs=lambda args: reading(call("task_get", id=args.id)),
)
def show(context: Context, args: Namespace) -> Any:
    from binnacle.store.details import details

    with context.reading() as tx:
        return details(tx, args.id)


@TASK.command(
    "update",
    "change what is said about a task; a list given replaces the old one, '' clears a field",
    "bn task update 1f3 -p critical -t login -t urgent",
    ID,
    arg("--title", help="a new title"),
    *FIELDS,
    arg("-s", "--status", completes="status", help="a new status, by the rules of the move that leads there"),
    arg("--reason", default="", help="why, with a status that wants to know"),
    FENCE,
    FORCE,
    view=_show_changed,
    needs=_needs_of_update,
)
def update(context: Context, args: Namespace) -> Any:
    from binnacle.store import flow, tasks

    changes = fields_of(context, args)
    if args.title is not None:
        changes["title"] = args.title
    if not changes and args.status is None:
        raise UsageError("bn task update: nothing to change", hint="see: bn task update --help")
    with context.writing() as tx:
        move = flow.Move(tasks.update(tx, args.id, changes, fence=args.fence, force=args.force))
        if args.status is not None:
            status = parse_status(args.status)
            move = flow.set_status(tx, args.id, status, reason=args.reason, fence=args.fence, force=args.force)
    return answer_of(move.task, unblocked=move.unblocked, warnings=move.warnings)


@TASK.command(
    "move",
    "move tasks to another feature",
    "bn task move 1f3 2a4 --to billing",
    arg("ids", nargs="+", metavar="ID", completes="task", help="the tasks"),
    arg("--to", required=True, metavar="FEATURE", completes="feature", help="where they belong"),
    FORCE,
    view=_show_added,
    needs=_needs_of_move,
)
def move(context: Context, args: Namespace) -> Any:
    from binnacle.store import tasks

    with context.writing() as tx:
        moved = [tasks.update(tx, text, {"feature": args.to}, force=args.force) for text in args.ids]
    return {"tasks": [brief(task) for task in moved]}


@TASK.command(
    "delete",
    "delete a task nothing refers to",
    "bn task delete 1f3",
    ID,
    FENCE,
    FORCE,
    view=_show_changed,
    needs=lambda args: calls(call("task_delete", id=args.id, fence=args.fence, force=args.force)),
)
def delete(context: Context, args: Namespace) -> Any:
    from binnacle.store import tasks

    with context.writing() as tx:
        return answer_of(tasks.delete(tx, args.id, fence=args.fence, force=args.force))


@TASK.command(
    "comment",
    "comment on a task; the comments are the history of its attempts",
    "bn task comment 1f3 'The test server refuses the token; see notes'",
    ID,
    arg("text", help="the comment; - reads it from stdin"),
    view=lambda answer, screen: screen.line(f"{answer['comment'].id} on {answer['comment'].task_id}"),
    needs=lambda args: calls(call("comment_add", task_id=args.id, body=args.text)),
)
def comment(context: Context, args: Namespace) -> Any:
    from binnacle.store import comments

    body = context.read_input("-") if args.text == "-" else args.text
    with context.writing() as tx:
        return {"comment": comments.add(tx, args.id, body)}


def answer_of(task: Task, **more: Any) -> dict[str, Any]:
    """What a change prints: the task and whatever there is to add."""
    claim = {"fence": task.fence, "expires_at": task.claim_expires_at} if task.claimed_by else {}
    return {"task": brief(task), **claim, **{name: list(value) for name, value in more.items() if value}}
