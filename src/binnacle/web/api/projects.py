"""What the page says of a project before anything else: its name, its numbers, and who acts in it."""

from msgspec import Struct

from binnacle.store.events import last_number
from binnacle.store.transaction import Reader
from binnacle.store.views.overview import ProjectOverview, load_overview
from binnacle.web.api.needs_you import count_waiting
from binnacle.web.endpoints import NoArguments, reads
from binnacle.web.page_project import PageProject
from binnacle.web.page_projects import name_of


class ProjectSummary(Struct, frozen=True, kw_only=True):
    """A project that the page shows."""

    key: str
    """What names it in addresses."""

    name: str
    place: str
    person: str
    """Who acts."""

    is_readonly: bool
    is_shared: bool
    """Whether its store is a database that several machines share."""

    overview: ProjectOverview
    needs_you: int
    """How much waits for a person."""

    cursor: int
    """Number of the newest event."""


@reads("project")
async def read_project(project: PageProject, _: NoArguments) -> ProjectSummary:
    """The state of one project in numbers."""

    def look(tx: Reader) -> tuple[ProjectOverview, int]:
        return load_overview(tx), last_number(tx)

    overview, cursor = await project.read(look)
    return ProjectSummary(
        key=project.key,
        name=name_of(project.project.repo),
        place=project.project.repo,
        person=project.person.name,
        is_readonly=project.is_readonly,
        is_shared=bool(project.project.settings.text("store.url")),
        overview=overview,
        needs_you=(await count_waiting(project)).total,
        cursor=cursor,
    )
