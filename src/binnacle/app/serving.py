"""Builds the MCP server of a project: catalog, providers, resources, prompts."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from binnacle.app import Project, find_project, open_store
from binnacle.errors import NotFound
from binnacle.passthrough.runner import Runner
from binnacle.server.catalog_host import CatalogHost, Prompt, Resource
from binnacle.server.engine import Engine
from binnacle.store import agents, overview, tasks
from binnacle.store.store import Reader
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.defaults import DEFAULT_TOOLS
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.shell import Shell
from binnacle.tools.work.access import Access
from binnacle.tools.work.catalog import work_tools
from binnacle.work.actor import Actor
from binnacle.work.task import brief


def open_access(project: Project) -> Access:
    """The tools' way to the project's store; the caller closes it."""
    patience = project.settings.number("store.timeout")
    return Access(lambda timeout: open_store(project, timeout=timeout), patience=patience)


@asynccontextmanager
async def open_engine(project: Project, *, prompts: tuple[Prompt, ...], timeout: float) -> AsyncGenerator[Engine]:
    """The MCP server of a project. Leaving it ends every process it started and closes the store."""
    with open_access(project) as access:
        async with Runner() as runner:
            shell = Shell(runner.run, _agent_exists, cwd=project.repo, timeout=timeout)
            catalog = Catalog([*shell.specs(), *work_tools(access)])
            dispatcher = Dispatcher(catalog, enabled=DEFAULT_TOOLS)
            yield Engine(
                CatalogHost(dispatcher, actor=_actor(), resources=_resources(project, access), prompts=prompts)
            )


def _actor() -> Callable[[Mapping[str, Any]], Actor]:
    """Clients act as the agent that started the server, or each under a name of its own."""
    known = os.environ.get("BN_AGENT_ID", "").strip()
    return lambda _: Actor(known or f"mcp-{os.urandom(3).hex()}", "agent")


async def _agent_exists(path: str, agent_id: str) -> bool:
    with open_store(find_project(path), create=False) as store, store.read() as tx:
        try:
            agents.get(tx, agent_id)
        except NotFound:
            return False
        return True


def _resources(project: Project, access: Access) -> tuple[Resource, ...]:
    async def status(caller: Caller) -> str:
        return await access.run(caller, _status, writes=False)

    async def guide(_: Caller) -> str | None:
        try:
            with open(os.path.join(project.repo, "AGENTS.md"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    return (
        Resource("binnacle://status", "status", "Task counts, ready tasks and the queue", "application/json", status),
        Resource("binnacle://agents", "agents", "AGENTS.md of the repository, if there is one", "text/markdown", guide),
    )


def _status(tx: Reader) -> str:
    ready, _ = tasks.ready(tx, limit=10)
    found = {"overview": overview.overview(tx), "ready": [brief(task) for task in ready]}
    return msgspec.json.encode(found).decode()
