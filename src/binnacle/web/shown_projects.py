"""What the page asks first: which projects there are, and what each needs. It is about no single project."""

import asyncio

from msgspec import Struct

from binnacle import __version__
from binnacle.errors import BinnacleError
from binnacle.web.api.projects import ProjectSummary, read_project
from binnacle.web.endpoint_calls import PageError, describe_error
from binnacle.web.endpoints import NoArguments
from binnacle.web.page_project import PageProject
from binnacle.web.page_projects import KnownProject, PageProjects, name_of

READ_SECONDS = 5.0
"""How long one project may take: the others are shown meanwhile."""


class BrokenProject(Struct, frozen=True, kw_only=True):
    """An open project that cannot be read now."""

    key: str
    name: str
    place: str
    problem: PageError


class ProjectsPage(Struct, frozen=True, kw_only=True):
    """Every project that the page shows or can show."""

    version: str
    is_readonly: bool
    projects: list[ProjectSummary]
    """Those that are open, the one that the page was started in first."""

    broken: list[BrokenProject]
    others: list[KnownProject]
    """Projects of this machine that are opened when somebody goes there."""


async def describe_projects(projects: PageProjects, *, is_readonly: bool) -> ProjectsPage:
    """All projects. One that does not answer in time does not keep the others back."""
    shown = list(projects.shown.values())
    *found, known = await asyncio.gather(*map(_describe, shown), projects.list_known())
    assert isinstance(known, list)
    return ProjectsPage(
        version=__version__,
        is_readonly=is_readonly,
        projects=[one for one in found if isinstance(one, ProjectSummary)],
        broken=[one for one in found if isinstance(one, BrokenProject)],
        others=[one for one in known if one.key not in projects.shown],
    )


async def _describe(project: PageProject) -> ProjectSummary | BrokenProject:
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await read_project(project, NoArguments())
    except BinnacleError as error:
        problem = describe_error(error)
    except TimeoutError:
        hint = "see: bn doctor"
        problem = PageError(code="E_TIMEOUT", message=f"no answer within {READ_SECONDS:g} s", hint=hint)
    place = project.project.repo
    return BrokenProject(key=project.key, name=name_of(place), place=place, problem=problem)
