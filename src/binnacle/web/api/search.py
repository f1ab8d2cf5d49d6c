"""Finding tasks by what a person types into the palette."""

from typing import Annotated

from msgspec import Meta, Struct

from binnacle.errors import InvalidInput
from binnacle.store import tasks
from binnacle.store.transaction import Reader
from binnacle.store.views.search import find_text
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject
from binnacle.work.ids import TaskId, parse_task_id
from binnacle.work.status import Status

MAX_ASKED_CHARACTERS = 200


class TaskSearch(Struct, frozen=True, kw_only=True):
    """The beginning of an id, or words of a task."""

    text: Annotated[str, Meta(max_length=MAX_ASKED_CHARACTERS)]
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class FoundTask(Struct, frozen=True, kw_only=True):
    """A task that matches."""

    id: TaskId
    title: str
    status: Status


class FoundTasks(Struct, frozen=True, kw_only=True):
    """The tasks that match, the best first."""

    tasks: list[FoundTask]


@reads("search_tasks")
async def search_tasks(project: PageProject, asked: TaskSearch) -> FoundTasks:
    return await project.read(lambda tx: FoundTasks(tasks=_search(tx, asked.text, asked.limit)))


def _search(tx: Reader, text: str, limit: int) -> list[FoundTask]:
    """Tasks whose id begins with the text, then those with its words."""
    ids = [*_find_ids(tx, text, limit), *_find_words(tx, text, limit)]
    found = tasks.get_many(tx, dict.fromkeys(ids))
    wanted = [found[one] for one in dict.fromkeys(ids) if one in found][:limit]
    return [FoundTask(id=task.id, title=task.title, status=task.status) for task in wanted]


def _find_ids(tx: Reader, text: str, limit: int) -> list[str]:
    try:
        beginning = parse_task_id(text)
    except InvalidInput:
        return []
    return [task_id for task_id, _ in tasks.list_beginning_with(tx, beginning, limit=limit)]


def _find_words(tx: Reader, text: str, limit: int) -> list[str]:
    try:
        hits = find_text(tx, text, entity="task", limit=limit)
    except InvalidInput:  # nothing to search for, such as only punctuation
        return []
    return [hit.id for hit in hits]
