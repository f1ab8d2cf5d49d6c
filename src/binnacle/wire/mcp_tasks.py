"""Tasks of the protocol, on the wire: a tool call that is answered with a handle, before it has a result.

They have nothing to do with the tasks of a project. The two eras differ. In the stateless era they are an extension
(`io.modelcontextprotocol/tasks`): the client declares it with each request, the server decides which call becomes a
task, and `tasks/get` brings the result along. In 2025-11-25 they are an experimental part of the protocol: the client
asks for a task with the call, and `tasks/result` waits for the result. Older versions have none.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from msgspec import Struct, field

from binnacle.wire.jsonrpc import RpcError
from binnacle.wire.mcp import MISSING_CAPABILITY, PREFIX, Era, Params

TASKS_EXTENSION = f"{PREFIX}tasks"
RELATED_TASK_KEY = f"{PREFIX}related-task"
HANDSHAKE_VERSION_WITH_TASKS = "2025-11-25"

HANDSHAKE_CAPABILITY: dict[str, Any] = {"tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
STATELESS_CAPABILITY: dict[str, Any] = {"extensions": {TASKS_EXTENSION: {}}}
TOOL_SUPPORT: dict[str, Any] = {"execution": {"taskSupport": "optional"}}
"""What the entry of a tool says in 2025-11-25 if its calls may be tasks."""

ProtocolTaskStatus = Literal["working", "completed", "failed", "cancelled"]


class TaskParams(Params, kw_only=True):
    """What the methods about one task take."""

    task_id: str = field(name="taskId")


class ProtocolTaskState(Struct, frozen=True, kw_only=True):
    """A task as its client sees it at one moment."""

    id: str
    status: ProtocolTaskStatus = "working"
    message: str = ""
    created_at: datetime
    updated_at: datetime
    kept_for: timedelta
    """How long it is kept, from its creation."""

    poll_after: timedelta
    result: dict[str, Any] | None = None
    """What the call returned, once it has."""

    error: dict[str, Any] | None = None
    """The protocol error that it ended with."""


def takes_tasks(capabilities: object) -> bool:
    """Whether the client of a stateless request declares the extension."""
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and TASKS_EXTENSION in extensions


def missing_extension() -> RpcError:
    """The error for a request about tasks whose client does not declare the extension."""
    data = {"requiredCapabilities": STATELESS_CAPABILITY}
    return RpcError(MISSING_CAPABILITY, f"missing client capability: {TASKS_EXTENSION}", data)


def describe_task(task: ProtocolTaskState, era: Era) -> dict[str, Any]:
    """The fields of a task in the format of an era, without its result."""
    units = ("ttlMs", "pollIntervalMs") if era == "stateless" else ("ttl", "pollInterval")
    return {
        "taskId": task.id,
        "status": _status_in(task, era),
        **({"statusMessage": task.message} if task.message else {}),
        "createdAt": _format_time(task.created_at),
        "lastUpdatedAt": _format_time(task.updated_at),
        units[0]: _milliseconds(task.kept_for),
        units[1]: _milliseconds(task.poll_after),
    }


def describe_with_outcome(task: ProtocolTaskState, era: Era) -> dict[str, Any]:
    """The answer to `tasks/get`. Only the stateless era includes the result."""
    found = describe_task(task, era)
    if era == "stateless" and task.status == "completed":
        found["result"] = task.result
    elif era == "stateless" and task.status == "failed":
        found["error"] = task.error
    return found


def _status_in(task: ProtocolTaskState, era: Era) -> ProtocolTaskStatus:
    """A tool that reports an error has failed in 2025-11-25, and has completed in the stateless era."""
    is_error = task.result is not None and task.result.get("isError") is True
    return "failed" if era == "handshake" and is_error else task.status


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(span: timedelta) -> int:
    return round(span / timedelta(milliseconds=1))
