"""Answers what clients ask about tasks of the protocol, and makes tasks of tool calls, in both eras."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from binnacle.server.protocol_tasks import Changed, ProtocolTask, ProtocolTasks
from binnacle.server.provider import Result
from binnacle.server.request import McpRequest, Peer
from binnacle.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from binnacle.wire.mcp import CallParams, Params
from binnacle.wire.mcp_tasks import (
    HANDSHAKE_VERSION_WITH_TASKS,
    RELATED_TASK_KEY,
    TaskParams,
    describe_task,
    describe_with_outcome,
    missing_extension,
    takes_tasks,
)

Handler = Callable[[McpRequest, Any], Awaitable[Result]]


class TaskRequests:
    """The tasks of a server's clients. Closing it ends the calls that still run."""

    def __init__(self, changed: Changed, *, is_long: Callable[[str], bool]) -> None:
        """`is_long` says of a tool whether its calls may become tasks."""
        self._tasks = ProtocolTasks(changed)
        self._is_long = is_long
        self.handlers: dict[str, tuple[type[Params], Handler]] = {
            "tasks/get": (TaskParams, self._get),
            "tasks/result": (TaskParams, self._wait_result),
            "tasks/update": (TaskParams, self._update),
            "tasks/cancel": (TaskParams, self._cancel),
        }

    async def run(
        self, call: McpRequest, params: CallParams, work: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result:
        """Runs a tool call. Returns its result, or the task that it has become."""
        if not _speaks_tasks(call):
            return await work()
        at_once = call.era == "handshake" and bytes(params.task)[:1] == b"{"
        if call.era == "handshake" and not at_once:
            return await work()
        if at_once and not self._is_long(params.name):
            raise RpcError(METHOD_NOT_FOUND, f"method not found: a task for {params.name}")
        found = await self._tasks.answer(call, work, at_once=at_once)
        if not isinstance(found, ProtocolTask):
            return found
        about = describe_task(found.state, call.era)
        return {"resultType": "task", **about} if call.era == "stateless" else {"task": about}

    def choose_known(self, ids: tuple[str, ...], peer: Peer) -> tuple[str, ...]:
        """Those ids that are tasks of a client."""
        return tuple(one for one in dict.fromkeys(ids) if self._tasks.has(one, peer))

    async def end_all(self, peer: Peer | None = None) -> None:
        """Ends the tasks of one client, or of all."""
        await self._tasks.end_all(peer)

    def _find(self, call: McpRequest, params: TaskParams) -> ProtocolTask:
        if not _speaks_tasks(call):
            raise missing_extension() if call.era == "stateless" else RpcError(METHOD_NOT_FOUND, "method not found")
        return self._tasks.find(params.task_id, call.peer)

    async def _get(self, call: McpRequest, params: TaskParams) -> Result:
        return describe_with_outcome(self._find(call, params).state, call.era)

    async def _wait_result(self, call: McpRequest, params: TaskParams) -> Result:
        """Waits for the result, which is exactly that of the call."""
        task = self._find(call, params)
        result = await task.outcome()
        return {**result, "_meta": {**result.get("_meta", {}), RELATED_TASK_KEY: {"taskId": task.id}}}

    async def _update(self, call: McpRequest, params: TaskParams) -> Result:
        """Takes a client's answers. No task asks its client anything, and answers to nothing are ignored."""
        self._find(call, params)
        return {}

    async def _cancel(self, call: McpRequest, params: TaskParams) -> Result:
        task = self._find(call, params)
        if call.era == "handshake" and task.status != "working":
            raise RpcError(INVALID_PARAMS, f"the task is over already: {task.status}")
        await task.cancel()
        return {} if call.era == "stateless" else describe_task(task.state, call.era)


def _speaks_tasks(call: McpRequest) -> bool:
    """Whether a request may be about tasks: in the stateless era, it says so itself."""
    if call.era == "stateless":
        return takes_tasks(call.capabilities)
    return call.peer.version == HANDSHAKE_VERSION_WITH_TASKS
