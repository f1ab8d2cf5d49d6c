"""The tools of a project: ours, and those that its scripts make."""

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


def open_access(project: Project, *, is_served: bool = False) -> StoreAccess:
    """The tools' way to the project's store; the caller closes it.

    A folder that is no project gets a store when a command asks for one, but not when it `is_served` to a client.
    """
    patience = project.settings.number("store.timeout")

    def open_known(timeout: float) -> Store:
        if is_served and not project.is_known:
            raise NotReady("this server was started outside a project", hint=steps.CHOOSE_PROJECT)
        return open_store(project, timeout=timeout)

    return StoreAccess(open_known, patience=patience)


def own_tools(access: StoreAccess, runner: CommandRunner, finder: ToolFinder, *, timeout: float) -> list[ToolSpec]:
    """Every tool that is built in, scripts aside. `timeout` is how long a `bn_run` may take, in seconds."""
    shell = BnTools(runner.run, timeout=timeout)
    return [*shell.specs(), *work_tools(access), *finder.specs()]


def catalog_of(project: Project) -> Catalog:
    """Every tool of our own and of the project's scripts, to be looked at and not to be called."""
    finder = ToolFinder(lambda: ToolIndex(()), Dispatcher(Catalog()).reply)
    own = own_tools(open_access(project), CommandRunner(), finder, timeout=0)
    return Catalog([*own, *ScriptProvider(project).specs(own)])
