"""Calls a tool or a script for one command, through the same dispatch as for agents."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from binnacle.bridge.manifest import ScriptEntry, ScriptManifest
from binnacle.bridge.project_scripts import ProjectScript
from binnacle.plan.rights import SessionRights
from binnacle.project.project import Project
from binnacle.project.script_provider import ScriptProvider
from binnacle.project.tool_catalog import open_access
from binnacle.proving.background_closing import BackgroundClosing
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.outcome import Outcome
from binnacle.tools.script_tools import ScriptPlace, ScriptRunner, script_tools
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.all_work_tools import work_tools


def list_tools(project: Project) -> Catalog:
    """The tools on tasks, to be looked at and not to be called."""
    with open_access(project) as access:
        return Catalog(work_tools(access))


def call_tool(
    project: Project,
    name: str,
    arguments: bytes,
    caller: Caller,
    rights: SessionRights | None,
    *,
    workspace: str,
) -> Outcome:
    """Calls a tool on tasks, within the limits of the caller's session. `workspace` is the folder of the caller."""
    return asyncio.run(_call_tool(project, name, arguments, caller, rights, workspace))


async def _call_tool(
    project: Project, name: str, arguments: bytes, caller: Caller, rights: SessionRights | None, workspace: str
) -> Outcome:
    async with _open_work_tools(project, workspace) as access:
        dispatcher = _dispatcher(Catalog(work_tools(access)), access, rights)
        return await dispatcher.call(name, arguments, caller)


async def call_own_tool(project: Project, name: str, arguments: bytes, caller: Caller, *, workspace: str) -> Outcome:
    """Calls a tool on tasks or a script, without the limits of a session. What it started has ended when it returns."""
    scripts = ScriptProvider(project, client="page", start=workspace)
    async with _open_work_tools(project, workspace) as access:
        try:
            own = work_tools(access)
            dispatcher = Dispatcher(Catalog([*own, *scripts.specs(own)]), in_shell=True)
            return await dispatcher.call(name, arguments, caller)
        finally:
            await scripts.aclose()


@asynccontextmanager
async def _open_work_tools(project: Project, workspace: str) -> AsyncIterator[StoreAccess]:
    """What the tools on tasks need. Leaving it ends checks that still run and closes the store."""
    with open_access(project, workspace=workspace) as access:
        closing = BackgroundClosing(project, access, workspace=workspace, patience=None)
        access.done_requests = closing
        try:
            yield access
        finally:
            await closing.aclose()


def _dispatcher(catalog: Catalog, access: StoreAccess, rights: SessionRights | None) -> Dispatcher:
    """Calls the tools of the catalog that the caller may call."""
    if rights is None:
        return Dispatcher(catalog, in_shell=True)
    known = {name: other for name, other in rights.recipe.instead.items() if name in catalog and other in catalog}
    return Dispatcher(catalog, exposed=rights.expose(catalog, access), instead=known, in_shell=True)


def call_script(
    project: Project,
    entry: ScriptEntry,
    own: ProjectScript | None,
    arguments: bytes,
    caller: Caller,
    *,
    start: str | None,
) -> Outcome:
    """Runs a script, whether it is a tool or not; `own` is its program, if it is one of the project's."""
    return asyncio.run(_call_script(project, entry, own, arguments, caller, start))


async def _call_script(
    project: Project, entry: ScriptEntry, own: ProjectScript | None, arguments: bytes, caller: Caller, start: str | None
) -> Outcome:
    scripts = ScriptProvider(project, client="cli", start=start)

    async def execute(work: ScriptRunner) -> Any:  # whatever the script answers
        if own is None:
            return await scripts.run_by_host(work)
        return await scripts.run_trusted(own, work)

    manifest = ScriptManifest(scripts={entry.metadata.alias: entry})
    specs = script_tools(manifest, execute, ScriptPlace(scripts.workspace, os.getcwd()), every=True)
    try:
        return await Dispatcher(Catalog(specs), in_shell=True).call(entry.metadata.tool, arguments, caller)
    finally:
        await scripts.aclose()
