"""The tools of a project: the built-in ones, and those of its scripts."""

from binnacle.errors import NotReady
from binnacle.passthrough.command_runner import CommandRunner
from binnacle.project.project import Project
from binnacle.project.script_provider import ScriptProvider
from binnacle.project.store_opening import open_store
from binnacle.store.store import Store
from binnacle.tools.bn_tools import BnTools
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.tool_search import ToolFinder, ToolIndex
from binnacle.tools.tool_spec import ToolSpec
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.all_work_tools import work_tools
from binnacle.work import steps


def open_access(project: Project, *, workspace: str | None = None, is_served: bool = False) -> StoreAccess:
    """The tools' access to the project's store; the caller closes it.

    `workspace` is the folder in which the agent works. A folder that is not a project gets a store if a command needs
    one, but not if it `is_served` to a client.
    """
    patience = project.settings.number("store.timeout")

    def open_known(timeout: float, outage: float) -> Store:
        if is_served and not project.is_known:
            raise NotReady("this server was started outside a project", hint=steps.CHOOSE_PROJECT)
        return open_store(project, workspace=workspace, timeout=timeout, outage=outage)

    return StoreAccess(open_known, patience=patience, is_shared=bool(project.settings.text("store.url")))


def own_tools(access: StoreAccess, runner: CommandRunner, finder: ToolFinder, *, timeout: float) -> list[ToolSpec]:
    """Every built-in tool except scripts. `timeout` is how many seconds a `bn_run` may take."""
    shell = BnTools(runner.run, timeout=timeout)
    return [*shell.specs(), *work_tools(access), *finder.specs()]


def catalog_of(project: Project) -> Catalog:
    """Every built-in tool and the tools of the project's scripts, to show but not to call."""
    finder = ToolFinder(lambda: ToolIndex(()), Dispatcher(Catalog()).reply)
    own = own_tools(open_access(project), CommandRunner(), finder, timeout=0)
    return Catalog([*own, *ScriptProvider(project).specs(own)])
