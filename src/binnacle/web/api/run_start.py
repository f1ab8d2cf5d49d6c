"""Starts runs from the page: what can be chosen, which command will run, and what it printed if it did not begin."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from binnacle.app import run_start
from binnacle.app.run_order import RunOrder
from binnacle.app.run_start import RunStartPreview, StartedRun
from binnacle.errors import AgentStart, Refused
from binnacle.git.command import Git
from binnacle.runner.agents.agent_commands import KNOWN_AGENTS, resolve_agent
from binnacle.store.features import list_features
from binnacle.store.transaction import Reader
from binnacle.store.views.run_overview import list_models
from binnacle.web.endpoints import NoArguments, acts, reads
from binnacle.web.page_project import PageProject

MAX_FILES = 300


class OfferedAgent(Struct, frozen=True, kw_only=True):
    """An agent that is known by name."""

    name: str
    is_installed: bool
    install: str
    """How to get it."""


class RunChoices(Struct, frozen=True, kw_only=True):
    """What can be chosen for a run."""

    agents: list[OfferedAgent]
    models: list[str]
    """Those that runs had before."""

    features: list[str]
    files: list[str]
    """Texts of the repository that may be specifications."""

    agent: str
    """That of the settings."""

    model: str
    approve: str


class RunOrderQuery(Struct, frozen=True, kw_only=True):
    """The name of a run that is to be resumed."""

    run: str


class KnownOrder(Struct, frozen=True, kw_only=True):
    """What was ordered of a run."""

    order: RunOrder | None
    """None if it was not started from a page on this machine."""


class ConfirmedOrder(Struct, frozen=True, kw_only=True):
    """An order, with the command that the person has seen."""

    order: RunOrder
    command: str


class RunOrderToPreview(Struct, frozen=True, kw_only=True):
    """An order whose effect is asked for."""

    order: RunOrder


class StartedRunQuery(Struct, frozen=True, kw_only=True):
    """A run that was started."""

    id: Annotated[str, Meta(max_length=60)]


@reads("run_choices")
async def read_choices(project: PageProject, asked: NoArguments) -> RunChoices:  # noqa: ARG001
    """What can be chosen for a run."""
    settings = project.project.settings

    def look(tx: Reader) -> tuple[list[str], list[str]]:
        return list_models(tx), [one.name for one in list_features(tx)]

    models, features = await project.read(look)
    return RunChoices(
        agents=await asyncio.to_thread(_list_agents),
        models=models,
        features=features,
        files=await _list_texts(project.workspace),
        agent=settings.text("run.agent"),
        model=settings.text("run.model"),
        approve=settings.text("run.approve"),
    )


@reads("run_order")
async def read_order(project: PageProject, asked: RunOrderQuery) -> KnownOrder:
    """What was ordered when a run of this name was started from the page last."""
    return KnownOrder(order=await asyncio.to_thread(run_start.find_order, project.project, asked.run))


@acts("run_start_preview")
async def preview_start(project: PageProject, asked: RunOrderToPreview) -> RunStartPreview:
    """Which command an order runs, and what of the project has an effect in it.

    It changes nothing. It is an action because a specification is too long for an address.
    """
    return await run_start.preview_start(project.project, project.workspace, asked.order)


@acts("start_run")
async def start_run(project: PageProject, asked: ConfirmedOrder) -> StartedRun:
    """Starts exactly the command that the person has seen.

    Raises:
        Refused: it would be another one now.
    """
    preview = await preview_start(project, RunOrderToPreview(order=asked.order))
    if preview.command != asked.command:
        raise Refused("the command is another one now", hint="look at it again")
    return await asyncio.to_thread(run_start.start_run, project.project, project.workspace, asked.order)


@reads("started_run")
async def read_started(project: PageProject, asked: StartedRunQuery) -> StartedRun:
    """Whether a run that was started lives, and what it printed."""
    return await asyncio.to_thread(run_start.read_start, project.project, asked.id)


def _list_agents() -> list[OfferedAgent]:
    return [
        OfferedAgent(name=name, is_installed=_is_installed(name), install=known.install)
        for name, known in KNOWN_AGENTS.items()
    ]


def _is_installed(name: str) -> bool:
    try:
        resolve_agent(name)
    except AgentStart:
        return False
    return True


async def _list_texts(folder: str) -> list[str]:
    """Texts that git knows, those that are called after a specification or a plan first."""
    listed = await Git(folder).run("ls-files", "-z", "--", "*.md", "*.markdown", "*.txt")
    names = listed.names if listed.code == 0 else []
    words = ("spec", "plan", "prd", "requirements", "todo")
    return sorted(names, key=lambda name: (not any(word in name.casefold() for word in words), name))[:MAX_FILES]
