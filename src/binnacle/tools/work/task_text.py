"""Parameters that several tools share, and tasks as text in their answers."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct, structs

from binnacle.store.task_moves import TaskMove
from binnacle.tools.outcome import ToolReply
from binnacle.work.evidence import describe_proof
from binnacle.work.status import STATUSES, parse_kind, parse_priority, parse_status
from binnacle.work.task import Brief, NewTask, Task, brief

TaskRef = Annotated[str, Meta(description="id such as bn-1f3a; three digits suffice")]
Fence = Annotated[int | None, Meta(description="number of your claim")]
Status = Annotated[str, Meta(description=f"one of {', '.join(STATUSES)}")]
Priority = Annotated[int | str, Meta(description="0 critical, 1 high, 2 medium, 3 low, 4 backlog, or the name")]
Kind = Annotated[str, Meta(description="task, bug or idea")]
Limit = Annotated[int, Meta(description="how many at most", ge=1, le=500)]
Lines = tuple[str, ...]
Covers = Annotated[Lines, Meta(description="requirements of the specification that it meets, such as R12")]


Checks = Annotated[Lines, Meta(description="names of checks that have to pass before it is done")]


class TaskInput(Struct, kw_only=True, forbid_unknown_fields=True):
    """A task to add."""

    title: Annotated[str, Meta(description="what to do, in one line; unlike those of other open tasks")]
    description: str = ""
    status: Annotated[str, Meta(description="pending, or draft for an idea to work out")] = "pending"
    priority: Priority | None = None
    kind: Kind = "task"
    feature: Annotated[str | None, Meta(description="name of an existing feature")] = None
    discipline: Annotated[str | None, Meta(description="name of an existing discipline")] = None
    parent: Annotated[str | None, Meta(description="id of the task it is a part of")] = None
    depends_on: Annotated[Lines, Meta(description="ids it waits for; '#1' is the first task of this call")] = ()
    acceptance_criteria: Lines = ()
    context_files: Annotated[Lines, Meta(description="files worth reading first")] = ()
    output_artifacts: Lines = ()
    hints: str = ""
    pseudocode: str = ""
    estimated_turns: int | None = None
    tags: Lines = ()
    covers: Covers = ()
    checks: Checks = ()


class PartInput(Struct, kw_only=True, forbid_unknown_fields=True):
    """A part of a task. It gets the task's feature, discipline and, unless given, priority."""

    title: str
    description: str = ""
    priority: Priority | None = None
    depends_on: Annotated[Lines, Meta(description="ids it waits for; '#1' is the first part")] = ()
    acceptance_criteria: Lines = ()
    context_files: Lines = ()
    hints: str = ""
    covers: Covers = ()
    checks: Checks = ()


def new_task(given: TaskInput | PartInput) -> NewTask:
    """The input as the store takes it. Its provenance is "agent", because only agents call tools."""
    fields = structs.asdict(given)
    fields["priority"] = None if given.priority is None else parse_priority(given.priority)
    if isinstance(given, TaskInput):
        fields |= {"status": parse_status(given.status), "kind": parse_kind(given.kind)}
    return NewTask(provenance="agent", **fields)


class TaskEnrichment(TypedDict, total=False):
    """What turns a draft into a task, in addition to pseudocode."""

    acceptance_criteria: Lines
    context_files: Lines
    hints: str
    estimated_turns: int


class TaskChanges(TaskEnrichment, total=False):
    """The fields of a task that can be changed, apart from those that agents change most."""

    title: str
    description: str
    kind: Kind
    feature: str
    discipline: str
    parent: str
    output_artifacts: Lines
    pseudocode: str
    tags: Lines
    covers: Covers
    checks: Checks


def parse_changes(fields: TaskChanges) -> dict[str, Any]:
    """The changes, as the store takes them."""
    found: dict[str, Any] = dict(fields)
    if "kind" in fields:
        found["kind"] = parse_kind(fields["kind"])
    return found


def line(task: Task | Brief) -> str:
    """A task in one line: `bn-1f3a P1 title (auth; waits for 2)`."""
    short = brief(task) if isinstance(task, Task) else task
    notes = [short.feature or "", f"waits for {short.waits_for}" if short.waits_for else ""]
    notes += [f"held by {short.claimed_by}" if short.claimed_by else "", short.kind if short.kind != "task" else ""]
    notes += [describe_proof(short.level, short.commit)]
    said = "; ".join(note for note in notes if note)
    return f"{short.id} P{short.priority} {short.title}{f' ({said})' if said else ''}"


def lines(tasks: Iterable[Task], *, total: int | None = None, empty: str = "No tasks.") -> str:
    """Tasks, one per line, and how many are not shown."""
    found = [line(task) for task in tasks]
    if not found:
        return empty
    more = f"\n… and {total - len(found)} more" if total is not None and total > len(found) else ""
    return "\n".join(found) + more


def list_reply(tasks: Sequence[Task], total: int, *, empty: str) -> ToolReply:
    """The reply with a page of tasks."""
    return ToolReply({"tasks": [brief(task) for task in tasks], "total": total}, lines(tasks, total=total, empty=empty))


def move_reply(move: TaskMove, said: str) -> ToolReply:
    """The reply with the result of a move."""
    task = move.task
    data: dict[str, Any] = {"task": brief(task)}
    text = f"{'requested:' if move.request else said} {line(task)}"
    if task.claimed_by:
        data |= {"fence": task.fence, "expires_at": task.claim_expires_at}
        text += f"\nclaim {task.fence}: pass fence={task.fence} with what you change"
    if move.unblocked:
        data["unblocked"] = list(move.unblocked)
        text += f"\nnow ready: {', '.join(move.unblocked)}"
    if move.request is not None:
        data["requested"] = move.request
    if move.warnings:
        data["warnings"] = list(move.warnings)
        text += "".join(f"\nwarning: {warning}" for warning in move.warnings)
    if task.status == "in_progress" and task.description:  # an agent that takes a task has to know what to do
        data["description"] = task.description
        text += f"\n\n{task.description}"
    return ToolReply(data, text, request=move.request)
