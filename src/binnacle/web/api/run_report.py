"""A run as one self-contained file, to share or to keep: the page of `bn report --html`."""

import asyncio

from msgspec import Struct

from binnacle.project.project import Project
from binnacle.project.store_opening import open_store
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject


class RunReportQuery(Struct, frozen=True, kw_only=True):
    """Which run, by its id, its name or one of its sessions."""

    run: str


class SharedRunReport(Struct, frozen=True, kw_only=True):
    """The report of a run as a page that needs nothing else."""

    file: str
    """A name for it."""

    html: str


@reads("run_report")
async def read_report(project: PageProject, asked: RunReportQuery) -> SharedRunReport:
    """The report of a run. It asks git, so it has a connection of its own and holds up nothing else."""
    return await asyncio.to_thread(_render, project.project, project.workspace, asked.run)


def _render(project: Project, workspace: str, run: str) -> SharedRunReport:
    from binnacle.app.run_report.collection import collect_run_report
    from binnacle.app.run_report.html_page import render_page

    with open_store(project, workspace=workspace) as store, store.read() as tx:
        report = collect_run_report(tx, project, run)
    return SharedRunReport(file=f"{report.name}-{report.id}.html".replace("/", "-"), html=render_page(report))
