"""The scripts of a project as tools, and what runs them: the script host, and the keeper of processes."""

import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from binnacle.bridge.jobs.protocol import JobEvent
from binnacle.bridge.manifest import shipped_scripts
from binnacle.bridge.project_scripts import ProjectScript, check_trusted, find_project_scripts
from binnacle.project.project import Project
from binnacle.project.workspace import workspace_of
from binnacle.tools.script_tools import ScriptPlace, ScriptRunner, script_tools, status_tool, unsupported
from binnacle.tools.tool_spec import ToolSpec

if TYPE_CHECKING:
    from binnacle.bridge.client.bridge_client import BridgeClient
    from binnacle.bridge.client.bridge_status import BridgeStatus
    from binnacle.processes.keeper import Keeper

_log = logging.getLogger(__name__)


class ScriptProvider:
    """Runs scripts for one session. Closing it ends those of the project; a host keeps running."""

    def __init__(self, project: Project, *, client: str = "mcp", start: str | None = None) -> None:
        """`client` is our name for the host, `start` our folder in the project."""
        self._project = project
        self._name = client
        self._start = start or os.getcwd()
        self.workspace = workspace_of(project, start)
        self._own: dict[str, ProjectScript] = {}
        self._client: BridgeClient | None = None
        self._keeper: Keeper | None = None
        self._told: set[str] = set()

    def specs(self, built_in: Sequence[ToolSpec]) -> list[ToolSpec]:
        """The tools of the scripts in the current files, except those with the name of a `built_in` one."""
        found = find_project_scripts(self._project.repo)
        for problem in found.problems:
            self._warn(problem.message)
        self._own = found.scripts
        place = ScriptPlace(self.workspace, self._start)
        ours = [status_tool(self.status), *script_tools(shipped_scripts(), self.run_by_host, place)]
        own = script_tools(found.manifest(), self._run_by_tool, place, is_own=True)
        return [*ours, *self._without_namesakes(own, built_in)]

    def _without_namesakes(self, own: list[ToolSpec], built_in: Sequence[ToolSpec]) -> Iterator[ToolSpec]:
        taken = {name for spec in built_in for name in names_of(spec)}
        for spec in own:
            if namesakes := taken & names_of(spec):
                self._warn(f"the script of {spec.name} is not a tool: there is already a tool {namesakes.pop()!r}")
            else:
                yield spec

    def _warn(self, message: str) -> None:
        """Logs a warning, once."""
        if message not in self._told:
            _log.warning("%s", message)
            self._told.add(message)

    async def status(self) -> "BridgeStatus":
        """The state of the bridge."""
        from binnacle.bridge.client.bridge_status import bridge_status

        return await bridge_status(self.client(), shipped_scripts())

    def client(self) -> "BridgeClient":
        if self._client is None:
            from binnacle.project.bridge_host import open_client

            self._client = open_client(self.workspace, name=self._name)
        return self._client

    async def run_by_host(self, work: ScriptRunner) -> Any:
        """Runs a script on a host. No host is started for a script that it could not run.

        Raises:
            BridgeError: the script or its host failed.
        """
        about = work.metadata
        client = self.client()
        if "headless" not in about.hosts and client.look_for_host() is None:
            raise unsupported(about, "headless")
        host = await client.find_host()
        scripts = host.capabilities.get("scripts")
        if host.kind not in about.hosts or (isinstance(scripts, list) and about.alias not in scripts):
            raise unsupported(about, host.kind)

        def on_event(event: JobEvent) -> None:
            work.tell(event.pct, event.text or event.msg)

        return await client.call(about.alias, work.params, timeout=work.timeout, on_event=on_event)

    async def _run_by_tool(self, work: ScriptRunner) -> Any:
        return await self.run_trusted(self._own[work.metadata.alias], work)

    async def run_trusted(self, one: ProjectScript, work: ScriptRunner) -> Any:
        """Runs a program of the project, if a person has trusted it as it is.

        Raises:
            BridgeError: it is not trusted, or it failed.
        """
        from binnacle.bridge.script_process import run_program
        from binnacle.processes.keeper import Keeper

        check_trusted(one, self._project.repo)
        if self._keeper is None:
            self._keeper = Keeper()
        return await run_program(
            self._keeper,
            one.program,
            work.params,
            alias=one.alias,
            workspace=self.workspace,
            timeout=work.timeout,
            tell=work.tell,
        )

    async def aclose(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._keeper is not None:
            await self._keeper.aclose()


def names_of(spec: ToolSpec) -> set[str]:
    """Every name of a tool."""
    return {spec.name, *(alias.name for alias in spec.aliases)}
