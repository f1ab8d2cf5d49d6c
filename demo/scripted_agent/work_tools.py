"""The work tools as functions, under whichever of their names a session lists them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from scripted_agent.mcp_servers import Answer
from scripted_agent.spec import Item
from scripted_agent.tools import Tools

ADD = ("task-add", "task_add", "create_task")
LIST = ("task-list", "task_list", "list_tasks")
NEXT = ("task-next", "task_next")
UPDATE = ("task-update", "task_update", "update_task")
STATUS = ("task_status", "set_task_status")
GET = ("task_get", "get_task")
NOTE = ("note-add", "note_add")
SUMMARY = ("iteration-summary", "iteration_summary")
COMPLETE = ("session-complete", "session_complete")


class Refusal(Exception):
    """A tool said no; its words say why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.text)
        self.text = answer.text
        self.code = answer.code


class Task(Struct, frozen=True):
    """A task as the lists of the server show it."""

    id: str
    title: str
    status: str = "pending"
    claimed_by: str | None = None
    fence: int | None = None
    description: str = ""
    covers: tuple[str, ...] = ()


class WorkTools:
    """Tasks, notes and the iteration of a session."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    @property
    def is_planning(self) -> bool:
        """Whether this session plans: it cannot complete anything."""
        return self._tools.find(*COMPLETE) is None

    async def tasks(self, *, closed_too: bool = False) -> list[Task]:
        """The tasks that are open."""
        answer = await self._ask(LIST, **({"closed_too": True, "limit": 500} if closed_too else {}))
        return _tasks(answer.data)

    async def next(self) -> Task | None:
        """The task to take next."""
        answer = await self._ask(NEXT)
        found = answer.data.get("task") if isinstance(answer.data, dict) else _read(answer.text)
        return _task(found) if found else None

    async def move(self, task: Task, status: str, *, reason: str = "") -> Task:
        """Brings a task to a status; `reason` is kept where the tool takes one."""
        given: dict[str, Any] = {"id": task.id, "status": status}
        given |= {"fence": task.fence} if task.fence is not None else {}
        tool = self._tools.find(*UPDATE, *STATUS)
        if reason and tool is not None and "reason" in tool.schema.get("properties", {}):
            given["reason"] = reason
        data = (await self._ask((*UPDATE, *STATUS), **given)).data
        if not isinstance(data, dict):
            return msgspec.structs.replace(task, status=status)
        moved = _task(data.get("task") or {"id": task.id, "title": task.title, "status": status})
        return msgspec.structs.replace(
            moved, fence=data.get("fence"), description=str(data.get("description") or task.description)
        )

    async def description(self, task: Task) -> str:
        """What a task says besides its title: as was told when it was taken, or as the tool for that tells it."""
        if task.description or self._tools.find(*GET) is None:
            return task.description
        data = (await self._ask(GET, id=task.id)).data
        known = data.get("task") if isinstance(data, dict) else None
        return str(known.get("description", "")) if isinstance(known, dict) else ""

    async def add(self, items: Sequence[Item]) -> int:
        """Adds tasks that are not there yet, in order; how many those are."""
        there = [task for task in await self.tasks(closed_too=True) if task.status != "cancelled"]
        known = {task.title.casefold(): task.id for task in there}
        new = [place for place, item in enumerate(items) if item.title.casefold() not in known and not item.is_done]
        await self._cover(items, {task.title.casefold(): task for task in there})
        if not new:
            return 0
        tool = self._tools.find(*ADD)
        is_single = tool is not None and "tasks" not in tool.schema.get("properties", {})
        batches = [[place] for place in new] if is_single else [new]
        for batch in batches:
            entries = [self._entry(items, place, batch, known) for place in batch]
            answer = await self._ask(ADD, **(entries[0] if is_single else {"tasks": entries}))
            known |= {task.title.casefold(): task.id for task in _tasks(answer.data)}
        return len(new)

    async def _cover(self, items: Sequence[Item], there: Mapping[str, Task]) -> None:
        """Says of tasks that are there what else they cover."""
        for item in items if self._tools.find(*UPDATE) else ():
            task = there.get(item.title.casefold())
            if task is not None and item.covers:
                await self._ask(UPDATE, id=task.id, covers=[*task.covers, *item.covers])

    def _entry(
        self, items: Sequence[Item], place: int, batch: Sequence[int], known: Mapping[str, str]
    ) -> dict[str, Any]:
        item = items[place]
        entry: dict[str, Any] = {self._title_key(): item.title}
        entry |= {"description": item.description} if item.description else {}
        entry |= {"priority": item.priority} if item.priority else {}
        entry |= {"covers": item.covers} if item.covers else {}
        after = [
            f"#{batch.index(one) + 1}" if one in batch else known.get(items[one].title.casefold(), "")
            for one in item.depends_on
        ]
        return entry | ({"depends_on": wanted} if (wanted := [one for one in after if one]) else {})

    def _title_key(self) -> str:
        tool = self._tools.find(*ADD)
        return "content" if tool is not None and '"content"' in json.dumps(tool.schema) else "title"

    async def note(self, kind: str, content: str) -> None:
        """Keeps a note; where nobody keeps notes, that is that."""
        if self._tools.find(*NOTE) is not None:
            await self._tools.use(*NOTE, notes=[{"type": kind, "content": content}])

    async def summarise(self, summary: str) -> None:
        await self._ask(SUMMARY, summary=summary)

    async def complete(self, reason: str) -> None:
        await self._ask(COMPLETE, reason=reason)

    async def _ask(self, names: Sequence[str], **arguments: Any) -> Answer:
        answer = await self._tools.use(*names, **arguments)
        if answer.is_error or answer.text.startswith("error: "):
            raise Refusal(answer)
        return answer


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _task(found: Mapping[str, Any]) -> Task:
    return Task(
        id=str(found.get("id", "")),
        title=str(found.get("title") or found.get("content") or ""),
        status=str(found.get("status", "pending")),
        claimed_by=found.get("claimed_by"),
        covers=tuple(found.get("covers") or ()),
    )


def _tasks(data: Any) -> list[Task]:
    listed = data.get("tasks") if isinstance(data, dict) else None
    return [_task(one) for one in listed or () if isinstance(one, dict)]
