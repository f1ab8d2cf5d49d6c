"""How much there is in each view of a project."""

from msgspec import Struct

from binnacle.store.transaction import Reader
from binnacle.web.api.needs_you import count_waiting
from binnacle.web.endpoints import NoArguments, reads
from binnacle.web.page_project import PageProject

_COUNTS = """
    select
    (select count(*) from task where status not in ('done', 'cancelled')),
    (select count(*) from run where status = 'active'),
    (select count(*) from review where status = 'open'),
    (select count(*) from agent where ended_at is null)
"""


class ViewCounts(Struct, frozen=True, kw_only=True):
    """What the navigation shows beside the names of views."""

    needs_you: int
    newest_need: str
    """When the newest thing that waits for the person was put into the store; empty if nothing there waits."""

    open_tasks: int
    runs: int
    """Runs that have not ended."""

    reviews: int
    """Changes that wait for somebody."""

    agents: int
    """Agents that are registered."""


@reads("view_counts")
async def read_view_counts(project: PageProject, asked: NoArguments) -> ViewCounts:  # noqa: ARG001
    waiting = await count_waiting(project)
    open_tasks, runs, reviews, agents = await project.read(_count)
    return ViewCounts(
        needs_you=waiting.total,
        newest_need=waiting.newest,
        open_tasks=open_tasks,
        runs=runs,
        reviews=reviews,
        agents=agents,
    )


def _count(tx: Reader) -> list[int]:
    row = tx.row(_COUNTS)
    assert row is not None
    return [int(number) for number in row]
