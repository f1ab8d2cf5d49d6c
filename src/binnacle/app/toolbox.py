"""The tools of a project and what executes them. Heavy: imported when the first tool is called, not at the start."""

import msgspec

from binnacle.app import Project, find_project, open_store
from binnacle.app.terms import Terms
from binnacle.errors import BinnacleError, NotFound
from binnacle.passthrough.runner import Runner
from binnacle.plan.binding import task_check
from binnacle.plan.recipe import Recipe, load_recipe
from binnacle.plan.session import Subject, bind, choose, introduction, shown_names, subject
from binnacle.store import agents, overview, tasks
from binnacle.store.store import Reader
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.shell import Shell
from binnacle.tools.work.access import Access
from binnacle.tools.work.catalog import work_tools
from binnacle.work.feature import Discipline
from binnacle.work.task import brief


def open_access(project: Project) -> Access:
    """The tools' way to the project's store; the caller closes it."""
    patience = project.settings.number("store.timeout")
    return Access(lambda timeout: open_store(project, timeout=timeout), patience=patience)


def open_catalog(project: Project, access: Access, runner: Runner, *, timeout: float) -> Catalog:
    """Every tool of a project. `timeout` is how long a `bn_run` may take, in seconds."""
    shell = Shell(runner.run, _agent_exists, cwd=project.repo, timeout=timeout)
    return Catalog([*shell.specs(), *work_tools(access)])


def catalog_of(project: Project) -> Catalog:
    """Every tool of a project, to be looked at and not to be called."""
    return open_catalog(project, open_access(project), Runner(), timeout=0)


class Toolbox:
    """Dispatcher and providers of one session. Closing it ends every process it started and closes the store."""

    def __init__(self, project: Project, terms: Terms, *, timeout: float) -> None:
        self._project = project
        self._terms = terms
        self._access = open_access(project)
        self._runner = Runner()
        self._catalog = open_catalog(project, self._access, self._runner, timeout=timeout)
        self._made_of: tuple[Recipe, Discipline | None] | None = None
        try:
            if not terms.is_bare:
                self._access.watch()  # before the plan is made: what changes from here on makes it anew
            self.refresh(reread=True)
        except BinnacleError:
            self._access.close()
            raise

    def refresh(self, *, reread: bool) -> None:
        """Works out the tools of the session as things stand now. Unless it is `reread`, the recipe is as it was."""
        if reread:
            self._recipe = load_recipe(self._terms.recipe, self._catalog, repo=self._project.repo)
        recipe, about = self._recipe, self._subject()
        if self._made_of == (recipe, about.discipline):
            return
        rules, _ = choose(recipe, self._catalog, about.discipline)
        check = task_check(self._access, about.task.id if about.task else None)
        exposed = bind(recipe, rules, self._catalog, about, check=check)
        self.dispatcher = Dispatcher(self._catalog, exposed=exposed, instead=recipe.instead)
        self.instructions = introduction(shown_names(exposed))
        self.listing = msgspec.json.encode([one.entry() for one in exposed])
        self._made_of = (recipe, about.discipline)

    def _subject(self) -> Subject:
        if self._terms.is_bare:
            return Subject()
        with open_store(self._project, create=False) as store, store.read() as tx:
            return subject(tx, self._terms.discipline, self._terms.feature, self._terms.task)

    async def has_store_changed(self) -> bool:
        """Whether something in the store has changed since this was last asked."""
        return await self._access.has_changed()

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
