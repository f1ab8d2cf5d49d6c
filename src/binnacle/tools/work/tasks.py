"""Tools that read and change tasks."""

from itertools import groupby
from typing import Annotated, Any, Literal, Unpack

from msgspec import Meta

from binnacle.store import comments, dependencies, task_deletion, task_moves
from binnacle.store import tasks as store_tasks
from binnacle.store.tasks import AddedTasks, TaskFilter, add, add_new
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views.search import find_text
from binnacle.store.views.task_details import load_details
from binnacle.tools.outcome import ToolReply, as_json
from binnacle.tools.tool_spec import ToolAlias
from binnacle.tools.work.task_text import (
    Fence,
    Kind,
    Limit,
    Lines,
    PartInput,
    Priority,
    Status,
    TaskChanges,
    TaskEnrichment,
    TaskInput,
    TaskRef,
    line,
    lines,
    list_reply,
    move_reply,
    new_task,
    parse_changes,
)
from binnacle.tools.work.typed_tool import tool
from binnacle.work.actor import Actor
from binnacle.work.done_gate import describe_request_state
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, describe_level, describe_verdict
from binnacle.work.observation import describe_observed
from binnacle.work.review import describe_remark
from binnacle.work.status import STATUSES, parse_kind, parse_priority, parse_status
from binnacle.work.task import brief

READ, CHANGE = "tasks: read", "tasks: change"
GONE = ("E_NOT_FOUND", "no task has that id; the error names the nearest one")
LOST = ("E_STALE_CLAIM", "your claim was lost; drop the work and take another task")
ID = {"task_id": "id"}

MAX_OFFSET = (1 << 31) - 1
"""The largest offset that both databases accept; a greater one is beyond the last task anyway."""


@tool(
    title="Add tasks",
    category=CHANGE,
    aliases=[ToolAlias(name="task-add", renames={"title": "content"}), ToolAlias(name="create_task", item="tasks")],
    synonyms={"content": "title"},
    errors=[
        ("E_DUPLICATE", "an open task has nearly that title; the error names it"),
        ("E_NOT_FOUND", "a feature or task does not exist"),
    ],
)
def task_add(
    tx: Writer,
    tasks: Annotated[tuple[TaskInput, ...], Meta(description="the tasks, in order", min_length=1)],
    *,
    duplicates: Annotated[
        Literal["refuse", "skip"], Meta(description="skip: leave out those whose titles open tasks have")
    ] = "refuse",
) -> ToolReply:
    """Adds tasks, all or none."""
    drafts = [new_task(one) for one in tasks]
    added = AddedTasks(add(tx, drafts), []) if duplicates == "refuse" else add_new(tx, drafts)
    said = [f"Added {len(added.tasks)} task(s):", *(f"  {task.id}: {task.title}" for task in added.tasks)]
    if not added.skipped:
        return ToolReply({"tasks": [brief(task) for task in added.tasks]}, "\n".join(said))
    said += [f"Left out {len(added.skipped)} that exist:"]
    said += [f"  {one.title}: {one.existing} {one.existing_title}" for one in added.skipped]
    return ToolReply({"tasks": [brief(task) for task in added.tasks], "skipped": added.skipped}, "\n".join(said))


@tool(
    title="Split a task",
    category=CHANGE,
    aliases=["spawn_subtasks"],
    synonyms=ID | {"subtasks": "parts", "content": "title"},
    errors=[GONE],
)
def task_split(
    tx: Writer,
    id: TaskRef,  # noqa: A002 - what agents call it
    parts: Annotated[tuple[PartInput, ...], Meta(description="at least two", min_length=2)],
    *,
    chain: Annotated[bool, Meta(description="each part waits for the one before")] = False,
) -> ToolReply:
    """Breaks a task into parts. The task waits for them and is ready again when all are done."""
    whole, made = task_moves.split(tx, id, [new_task(one) for one in parts], chain=chain)
    text = f"Split {line(whole)} into:\n{lines(made)}"
    return ToolReply({"task": brief(whole), "parts": [brief(part) for part in made]}, text)


@tool(
    title="Change a task",
    category=CHANGE,
    aliases=["task-update", "update_task"],
    idempotent=True,
    synonyms=ID | {"content": "title"},
    errors=[GONE, LOST],
)
def task_update(
    tx: Writer,
    id: TaskRef,  # noqa: A002
    *,
    status: Annotated[str | None, Meta(description="a new status, by the rules of task_status")] = None,
    priority: Priority | None = None,
    depends_on: Annotated[Lines | str | None, Meta(description="ids it waits for; replaces the old ones")] = None,
    reason: Annotated[str, Meta(description="the result, or why; needed to block or cancel")] = "",
    fence: Fence = None,
    **fields: Unpack[TaskChanges],
) -> ToolReply:
    """Changes a task. Fields that are not given stay; a list replaces the old one."""
    changes = parse_changes(fields) | ({} if priority is None else {"priority": parse_priority(priority)})
    task = store_tasks.update(tx, id, changes, fence=fence)
    if depends_on is not None:
        wanted = depends_on.replace(",", " ").split() if isinstance(depends_on, str) else depends_on
        task = dependencies.replace(tx, task.id, wanted)
    move = task_moves.TaskMove(task)
    # A task in progress may be claimed by someone else, or our own claim may need to be renewed.
    if status is not None and (parse_status(status) != task.status or task.status == "in_progress"):
        move = task_moves.set_status(tx, task.id, parse_status(status), reason=reason, fence=fence)
    said: dict[str, Any] = {"status": move.task.status} if status is not None else {}
    said |= {name: value if isinstance(value, (str, int)) else list(value) for name, value in changes.items()}
    told = ", ".join(f"{name}={value}" for name, value in said.items()) or "nothing"
    return move_reply(move, f"Updated task {move.task.id}: {told}\n")


@tool(
    title="Set the status of a task",
    category=CHANGE,
    aliases=["set_task_status"],
    idempotent=True,
    synonyms=ID,
    errors=[GONE, LOST, ("E_STATUS", "its status does not allow it"), ("E_REFUSED", "something is not finished")],
)
def task_status(
    tx: Writer,
    id: TaskRef,  # noqa: A002
    status: Status,
    *,
    reason: Annotated[str, Meta(description="the result, or why; needed to block or cancel")] = "",
    fence: Fence = None,
) -> ToolReply:
    """Moves a task: in_progress takes it, done finishes it if its checks pass, cancelled sets it aside, pending gives
    it back, in_review waits for a review."""
    return move_reply(task_moves.set_status(tx, id, parse_status(status), reason=reason, fence=fence), f"{status}:")


@tool(title="Look at the next task", category=READ, aliases=["task-next"])
def task_next(
    tx: Reader, by: Actor, *, feature: str | None = None, discipline: str | None = None, kind: Kind | None = None
) -> ToolReply:
    """The task you work on, or else the next one to take, without taking it: queued tasks first, then by
    priority and age."""
    which = TaskFilter(feature=feature, discipline=discipline, kind=parse_kind(kind) if kind else None)
    task = store_tasks.find_next_for(tx, by, which)
    if task is None:
        return ToolReply({"task": None}, "No ready tasks")
    data: dict[str, Any] = {"task": brief(task)}
    short = {"id": task.id, "content": task.title, "priority": task.priority, "status": task.status}
    if task.status == "in_progress":
        data |= {"held": True, "fence": task.fence}
        short |= {"note": "you already work on this task", "fence": task.fence}
    return ToolReply(data, as_json(short))


@tool(
    title="Take a task",
    category=CHANGE,
    claims=True,
    synonyms=ID,
    errors=[("E_REFUSED", "this iteration already works on another")],
)
def task_claim(
    tx: Writer,
    *,
    feature: str | None = None,
    discipline: str | None = None,
    kind: Kind | None = None,
    force: Annotated[bool, Meta(description="take another even if you work on one")] = False,
) -> ToolReply:
    """Takes the next ready task in one step; no one else gets it. If you already work on one, returns that. Use
    task_status to take a certain one."""
    which = TaskFilter(feature=feature, discipline=discipline, kind=parse_kind(kind) if kind else None)
    move = task_moves.claim_next(tx, which, force=force)
    if move is None:
        return ToolReply({"task": None}, "No ready tasks")
    reply = move_reply(move, "You already work on:" if move.was_held else "Taken:")
    return reply._replace(data={**reply.data, "held": True}) if move.was_held else reply


@tool(title="Give a task back", category=CHANGE, idempotent=True, synonyms=ID, errors=[GONE, LOST])
def task_release(tx: Writer, id: TaskRef, *, fence: Fence = None) -> ToolReply:  # noqa: A002
    """Gives a task back so that others can take it."""
    return move_reply(task_moves.release(tx, id, fence=fence), "Released:")


@tool(title="List tasks", category=READ, aliases=["task-list", "list_tasks"], synonyms={
    "filter_status": "status", "filter_feature": "feature", "filter_discipline": "discipline"})  # fmt: skip
def task_list(
    tx: Reader,
    *,
    status: Annotated[str | None, Meta(description="only this status; 'ready' for what can be taken now")] = None,
    feature: str | None = None,
    discipline: str | None = None,
    kind: Kind | None = None,
    priority: Priority | None = None,
    tag: str | None = None,
    parent: Annotated[str | None, Meta(description="only parts of this task")] = None,
    closed_too: Annotated[bool, Meta(description="also done and cancelled ones")] = False,
    limit: Limit = 50,
    offset: Annotated[int, Meta(ge=0)] = 0,
) -> ToolReply:
    """Lists tasks by status, most urgent first; by default those that are not closed."""
    which = TaskFilter(
        status=(parse_status(status),) if status and status != "ready" else (),
        feature=feature,
        discipline=discipline,
        kind=parse_kind(kind) if kind else None,
        priority=parse_priority(priority) if priority is not None else None,
        tag=tag,
        parent=store_tasks.resolve(tx, parent) if parent else None,
        closed_too=closed_too,
    )
    if status == "ready":
        return list_reply(*store_tasks.list_ready(tx, which, limit=limit), empty="Nothing is ready.")
    page, total = store_tasks.list_tasks(tx, which, limit=limit, offset=min(offset, MAX_OFFSET))
    ordered = sorted(page, key=lambda task: STATUSES.index(task.status))
    groups = [
        f"{group.replace('_', ' ').capitalize()}:\n"
        + "\n".join(f"  [{task.id}] {line(task)[len(task.id) + 1 :]}" for task in some)
        for group, some in groupby(ordered, key=lambda task: task.status)
    ]
    more = f"\n… and {total - len(page) - offset} more" if total > len(page) + offset else ""
    return ToolReply({"tasks": [brief(task) for task in page], "total": total}, "\n".join(groups) + more or "No tasks")


@tool(title="Read a task", category=READ, aliases=["get_task"], synonyms=ID, errors=[GONE])
def task_get(tx: Reader, id: TaskRef) -> ToolReply:  # noqa: A002
    """Everything about a task: what to do, what it waits for, its parts, its comments."""
    found = load_details(tx, id)
    task = found.task
    parts: list[str] = [f"{line(task)}\nstatus: {task.status}"]
    if task.evidence_level:
        level = describe_level(task.evidence_level, task.evidence_commit, task.evidence_at, now=tx.now)
        parts.append(f"evidence: {level}")
    if found.needs:
        parts.append(f"done once these pass on your commit: {'; '.join(found.needs)}")
    if found.request is not None and not task.evidence_level:
        parts.append(describe_request_state(found.request))
    parts += [f"{name}: {value}" for name in ("description", "hints", "pseudocode") if (value := getattr(task, name))]
    parts += [f"criterion {one.text!r} is shown by {one.describe()}" for one in found.criteria]
    for name in ("acceptance_criteria", "context_files", "output_artifacts", "tags", "covers", "checks"):
        if value := getattr(task, name):
            parts.append(f"{name}: " + "; ".join(value))
    for title, related in (
        ("waits for", found.depends_on),
        ("waited for by", found.dependents),
        ("parts", found.parts),
    ):
        parts += [f"{title}: {one.id} ({one.status}) {one.title}" for one in related]
    parts += [f"comment {one.id} by {one.author}: {one.body}" for one in found.comments]
    parts += [
        f"check {one.check_name}: {describe_verdict(one)} at {one.commit_id[:SHORT_COMMIT_CHARACTERS]} ({one.id})"
        for one in found.evidence
    ]
    if found.observed:
        parts.append(f"observed in its agent's folder: {describe_observed(found.observed)}")
    parts += [f"asked for in a review ({one.id}): {describe_remark(one)}" for one in found.remarks]
    parts += [f"waived by {one.waived_by}: {one.reason}" for one in found.waivers]
    parts += [f"question {one.id}: {one.text} Answer: {one.answer or 'none yet'}" for one in found.questions]
    return ToolReply(found, "\n".join(parts))


@tool(title="What a task builds on", category=READ, aliases=["get_dependency_details"], synonyms=ID, errors=[GONE])
def task_dependencies(tx: Reader, id: TaskRef) -> ToolReply:  # noqa: A002
    """The tasks that a task depends on, each with its result: its closing reason and newest comments."""
    task = store_tasks.get(tx, id)
    ids = [known.depends_on for known in dependencies.dependencies_of(tx, [task.id]).get(task.id, ())]
    found = store_tasks.get_many(tx, ids)
    data: list[dict[str, Any]] = [
        {
            "task": brief(found[one]),
            "closed_reason": found[one].closed_reason,
            "comments": comments.list_comments(tx, one, limit=5),
        }
        for one in ids
    ]
    texts = [
        "\n".join(
            [f"{one['task'].status}: {line(one['task'])} {one['closed_reason']}".rstrip()]
            + [f"  {comment.author}: {comment.body}" for comment in one["comments"]]
        )
        for one in data
    ]
    return ToolReply({"dependencies": data}, "\n".join(texts) or f"{task.id} depends on nothing.")


@tool(title="Search", category=READ, aliases=["search_tasks"])
def task_search(
    tx: Reader, query: Annotated[str, Meta(description="words that must all occur")], *, limit: Limit = 20
) -> ToolReply:
    """Full-text search over tasks, comments, notes and learnings, best match first."""
    hits = find_text(tx, query, limit=limit)
    texts = [f"{hit.entity} {hit.id} {hit.title} {hit.snippet}".rstrip() for hit in hits]
    return ToolReply({"hits": hits}, "\n".join(texts) or "Nothing found.")


@tool(title="Report a blocker", category=CHANGE, aliases=["report_blocker"], synonyms=ID, errors=[GONE, LOST])
def task_block(
    tx: Writer,
    id: TaskRef,  # noqa: A002
    reason: Annotated[str, Meta(description="what is in the way")],
    *,
    on: Annotated[str | None, Meta(description="id of the task that must be done first")] = None,
    fence: Fence = None,
) -> ToolReply:
    """Says that a task is blocked, and why. Blocked on another task, it is ready again when that is done."""
    return move_reply(task_moves.block(tx, id, reason=reason, on=on, fence=fence), "Blocked:")


@tool(title="Skip a task", category=CHANGE, aliases=["skip_task"], synonyms=ID, errors=[GONE, LOST])
def task_skip(tx: Writer, id: TaskRef, reason: str, *, fence: Fence = None) -> ToolReply:  # noqa: A002
    """Cancels a task, with a reason. Its history stays."""
    return move_reply(task_moves.skip(tx, id, reason=reason, fence=fence), "Skipped:")


@tool(
    title="Move a task to a feature",
    category=CHANGE,
    aliases=["move_task_to_feature"],
    idempotent=True,
    synonyms=ID | {"feature_name": "feature"},
    errors=[GONE],
)
def task_move(tx: Writer, id: TaskRef, feature: str) -> ToolReply:  # noqa: A002
    """Moves a task to another feature."""
    return move_reply(task_moves.TaskMove(store_tasks.update(tx, id, {"feature": feature})), "Moved:")


@tool(
    title="Add to a task's context",
    category=CHANGE,
    aliases=["update_task_context", ToolAlias(name="add_context_file")],
    idempotent=True,
    synonyms=ID | {"file_path": "files", "context_files": "files", "file": "files"},
    errors=[GONE, LOST],
)
def task_context(
    tx: Writer,
    id: TaskRef,  # noqa: A002
    *,
    files: Annotated[Lines | str, Meta(description="files to add that are worth reading first")] = (),
    hints: Annotated[str | None, Meta(description="replaces the hints")] = None,
    fence: Fence = None,
) -> ToolReply:
    """Adds files that are worth reading for a task, or replaces its hints."""
    task = store_tasks.get(tx, id)
    new = (files,) if isinstance(files, str) else files
    changes: dict[str, Any] = {"context_files": tuple(dict.fromkeys((*task.context_files, *new)))}
    changes |= {} if hints is None else {"hints": hints}
    changed = store_tasks.update(tx, task.id, changes, fence=fence)
    return ToolReply(
        {"task": brief(changed), "context_files": changed.context_files}, f"Context of {line(changed)} updated"
    )


@tool(
    title="Work out a draft",
    category=CHANGE,
    aliases=["enrich_task"],
    synonyms=ID,
    errors=[GONE, ("E_STATUS", "it is not a draft")],
)
def task_enrich(
    tx: Writer,
    id: TaskRef,  # noqa: A002
    pseudocode: Annotated[str, Meta(description="how to do it, in steps")],
    **more: Unpack[TaskEnrichment],
) -> ToolReply:
    """Turns a draft into a task that can be taken."""
    changes = {"pseudocode": pseudocode, **more}
    return move_reply(task_moves.TaskMove(task_moves.enrich(tx, id, changes)), "Enriched:")


@tool(
    title="Delete a task",
    category=CHANGE,
    aliases=["delete_task"],
    destructive=True,
    synonyms=ID,
    errors=[GONE, ("E_REFERENCED", "others refer to it; skip it instead")],
)
def task_delete(tx: Writer, id: TaskRef, *, fence: Fence = None) -> ToolReply:  # noqa: A002
    """Deletes a task that nothing refers to, with its comments. Skipping keeps its history."""
    task = task_deletion.delete_task(tx, id, fence=fence)
    return ToolReply({"deleted": brief(task)}, f"Deleted {line(task)}")
