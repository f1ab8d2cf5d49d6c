"""The tools of a project and what executes them. Heavy: imported when the first tool is called, not at the start."""

import msgspec

from binnacle.app import Project, find_project, open_store
from binnacle.errors import NotFound
from binnacle.passthrough.runner import Runner
from binnacle.store import agents, overview, tasks
from binnacle.store.store import Reader
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.defaults import DEFAULT_TOOLS
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.shell import Shell
from binnacle.tools.work.access import Access
from binnacle.tools.work.catalog import work_tools
from binnacle.work.task import brief


def open_access(project: Project) -> Access:
    """The tools' way to the project's store; the caller closes it."""
    patience = project.settings.number("store.timeout")
    return Access(lambda timeout: open_store(project, timeout=timeout), patience=patience)


class Toolbox:
    """Dispatcher and providers of one project. Closing it ends every process it started and closes the store."""

    def __init__(self, project: Project, *, timeout: float) -> None:
        """`timeout` is how long a `bn_run` may take, in seconds."""
        self._access = open_access(project)
        self._runner = Runner()
        shell = Shell(self._runner.run, _agent_exists, cwd=project.repo, timeout=timeout)
        self.dispatcher = Dispatcher(Catalog([*shell.specs(), *work_tools(self._access)]), enabled=DEFAULT_TOOLS)

    async def status(self, caller: Caller) -> str:
        """How the project stands, as JSON."""
        return await self._access.run(caller, _status, writes=False)

    async def aclose(self) -> None:
        await self._runner.aclose()
        self._access.close()


async def _agent_exists(path: str, agent_id: str) -> bool:
    with open_store(find_project(path), create=False) as store, store.read() as tx:
        try:
            agents.get(tx, agent_id)
        except NotFound:
            return False
        return True


def _status(tx: Reader) -> str:
    ready, _ = tasks.ready(tx, limit=10)
    found = {"overview": overview.overview(tx), "ready": [brief(task) for task in ready]}
    return msgspec.json.encode(found).decode()
