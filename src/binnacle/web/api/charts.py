"""How the work goes over time, in numbers: the page draws them, and shows each as a table, too."""

import asyncio
from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct

from binnacle.runner.tool_timing import ToolTimes, measure_tools
from binnacle.sessions.planning import session_folder
from binnacle.store.sessions import SESSIONS
from binnacle.store.transaction import Reader, stamp
from binnacle.store.views.spending import SpendingLine, list_spending, total_spending
from binnacle.store.views.work_charts import TimeInStatus, WorkDay, list_days, measure_statuses
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject

MAX_SESSIONS = 200


class ChartsQuery(Struct, frozen=True, kw_only=True):
    """How far back to look."""

    days: Annotated[int, Meta(ge=1, le=366)] = 30


class ChartsPage(Struct, frozen=True, kw_only=True):
    """What the store knows of the last days."""

    days: list[WorkDay]
    statuses: TimeInStatus
    by_day: list[SpendingLine]
    by_agent: list[SpendingLine]
    by_model: list[SpendingLine]
    by_recipe: list[SpendingLine]
    total: SpendingLine


@reads("charts")
async def read_charts(project: PageProject, asked: ChartsQuery) -> ChartsPage:
    """What was closed and spent in the last days, and how long tasks were in each status."""

    def look(tx: Reader) -> ChartsPage:
        since = (tx.now - timedelta(days=asked.days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return ChartsPage(
            days=list_days(tx, days=asked.days),
            statuses=measure_statuses(tx, days=asked.days),
            by_day=list_spending(tx, "day", since=since),
            by_agent=list_spending(tx, "agent", since=since),
            by_model=list_spending(tx, "model", since=since),
            by_recipe=list_spending(tx, "recipe", since=since),
            total=total_spending(tx, since=since),
        )

    return await project.read(look)


@reads("tool_times")
async def read_tool_times(project: PageProject, asked: ChartsQuery) -> ToolTimes:
    """How long tool calls took, and how many failed, from the transcripts of this machine."""

    def look(tx: Reader) -> list[str]:
        since = stamp(tx.now - timedelta(days=asked.days))
        ids = "where id in (select session from iteration where started_at >= ?) order by number desc limit ?"
        return [session_folder(project.project, one.id) for one in SESSIONS.select(tx, ids, since, MAX_SESSIONS)]

    return await asyncio.to_thread(measure_tools, await project.read(look))
