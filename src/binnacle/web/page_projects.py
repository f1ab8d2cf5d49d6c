"""The projects that a page shows: those it was started for, and every other one of this machine that somebody opens.

A project's key in addresses is made from its id, which stays when the project is moved: `shop-1f3a`.
"""

import asyncio
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from msgspec import Struct

from binnacle.errors import NotFound
from binnacle.project.machine_stores import list_places
from binnacle.project.project import Project, current_person, find_project
from binnacle.web.page_project import PageProject

MAX_OPEN_PROJECTS = 64
"""Projects open at once: each has a thread that follows its events."""

MAX_NAME_CHARACTERS = 24


class KnownProject(Struct, frozen=True, kw_only=True):
    """A project of this machine that the page can show."""

    key: str
    name: str
    place: str


class PageProjects:
    """The projects of one page. Leaving the block closes their stores."""

    def __init__(self, projects: Sequence[Project], *, is_readonly: bool, workspace: str) -> None:
        """`workspace` is the folder where the page was started, in the first project."""
        self._is_readonly = is_readonly
        self._workspace = workspace
        self._home = projects[0].id
        self._open: dict[str, PageProject] = {}
        self.on_open: Callable[[PageProject], None] = lambda _: None
        """Called with each project that is opened later."""

        for project in projects:
            self._add(project)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for project in self._open.values():
            project.__exit__()

    @property
    def shown(self) -> Mapping[str, PageProject]:
        """The open projects by key, the one that the page was started in first."""
        return self._open

    async def find(self, key: str) -> PageProject:
        """The project with this key, which is opened if it was not.

        Raises:
            NotFound: this machine has no such project, or too many are open.
        """
        if key not in self._open:
            known = {one.key: one for one in await self.list_known()}
            if key not in known:
                raise NotFound(
                    f"no project {key!r}", hint="choose one of the list, or open it with: bn gui --project DIR"
                )
            if len(self._open) >= MAX_OPEN_PROJECTS:
                hint = "start the page again: bn gui"
                raise NotFound(f"{MAX_OPEN_PROJECTS} projects are open, which is the limit", hint=hint)
            project = await asyncio.to_thread(find_project, known[key].place)
            if key not in self._open:  # another request may have been quicker
                self.on_open(self._add(project))
        return self._open[key]

    async def list_known(self) -> list[KnownProject]:
        """Every project of this machine, by name."""
        places = await asyncio.to_thread(list_places)
        found = [KnownProject(key=key_of(id_), name=name_of(place), place=place) for id_, place in places.items()]
        return sorted(found, key=lambda one: (one.name, one.key))

    def _add(self, project: Project) -> PageProject:
        key = key_of(project.id)
        if key not in self._open:
            workspace = self._workspace if project.id == self._home else project.repo
            self._open[key] = PageProject(
                project,
                key=key,
                person=current_person(project),
                workspace=workspace,
                is_readonly=self._is_readonly,
            )
        return self._open[key]


def key_of(project_id: str) -> str:
    """What names a project in addresses: readable, short, and the same for ever."""
    name = project_id.rpartition("-")[0] or project_id
    words = "".join(c if c.isascii() and (c.isalnum() or c in "._") else "-" for c in name.lower()).strip("-.")
    return f"{words[:MAX_NAME_CHARACTERS] or 'project'}-{zlib.crc32(os.fsencode(project_id)) & 0xFFFF:04x}"


def name_of(place: str) -> str:
    """What people call a project: the name of its folder."""
    return os.fsencode(os.path.basename(place) or place).decode("utf-8", "replace")
