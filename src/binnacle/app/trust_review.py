"""What in a project has an effect only once a person has trusted it: all of it, from everywhere in the project."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from binnacle.config import settings, trust
from binnacle.config.trust import How, State, TrustedItem, TrustItem
from binnacle.errors import BinnacleError, ConfigError
from binnacle.project.project import Project, current_person
from binnacle.project.store_opening import open_store
from binnacle.work.actor import Actor

HOW: dict[How, str] = {
    "terminal": "asked on a terminal",
    "yes": "--yes, without a question",
    "written": "written into the project by the person",
}


class TrustStanding(NamedTuple):
    """An item and how it stands."""

    item: TrustItem
    state: State
    before: TrustedItem | None
    """As it was trusted last, if it was."""


class TrustFindings(NamedTuple):
    """Everything that a project has of the kind."""

    standings: list[TrustStanding]
    problems: list[ConfigError]
    """Files that cannot be read. Nothing in them has an effect."""


def look(project: Project) -> TrustFindings:
    """What is to be trusted in a project, and what was.

    Raises:
        ConfigError: what was trusted cannot be read.
    """
    known = trust.find_trusted(project.repo)
    standings: list[TrustStanding] = []
    problems: list[ConfigError] = []
    for find in _finders(project):
        try:
            items = find()
        except ConfigError as error:
            problems.append(error)
        else:
            standings += [TrustStanding(one, trust.state_of(one, known), known.get(one.key)) for one in items]
    return TrustFindings(standings, problems)


def find_waiting(project: Project) -> list[str]:
    """The keys of what waits for a person's trust; none where that cannot be told."""
    with suppress(ConfigError):
        return [one.item.key for one in look(project).standings if one.state != "trusted"]
    return []


def _finders(project: Project) -> Iterable[Callable[[], list[TrustItem]]]:
    """Every part of the product that reads such things from a project says which there are."""
    from binnacle.bridge import project_scripts
    from binnacle.runner import prompt_template
    from binnacle.runner.hooks import hook_file
    from binnacle.upstream.configuration import server_overview

    repo = project.repo
    return (
        lambda: settings.find_items(repo),
        lambda: server_overview.find_items(repo, _brought(project)),
        lambda: hook_file.find_trust_items(repo),
        lambda: project_scripts.find_trust_items(repo),
        lambda: prompt_template.find_trust_items(repo),
        lambda: _recipes(project),
    )


def _recipes(project: Project) -> list[TrustItem]:
    """Recipes that give more than they may untrusted. Nothing is loaded where the project has none."""
    from binnacle.config.directories import PROJECT_DIR
    from binnacle.config.repository_files import is_folder_inside

    if not is_folder_inside(project.repo, f"{PROJECT_DIR}/recipes"):
        return []
    from binnacle.plan.recipe_loader import find_items
    from binnacle.project.tool_catalog import catalog_of

    return find_items(project.repo, catalog_of(project))


def _brought(project: Project) -> list[Mapping[str, object]]:
    """The servers of disciplines; none while the store cannot be read, as nobody can use them then."""
    from binnacle.store.features import list_disciplines

    with suppress(BinnacleError), open_store(project, create=False) as store, store.read() as tx:
        return [one.upstreams for one in list_disciplines(tx) if one.upstreams]
    return []


def grant(project: Project, items: Iterable[TrustItem], *, how: How) -> None:
    """Trusts items as they are, in the name of the person at work, and says so in the log.

    Raises:
        ConfigError: it cannot be written down.
    """
    items = list(items)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    trust.keep(project.repo, items, by=current_person(project), at=at, how=how)
    _log(project, "granted", {item.key: {"how": HOW[how], "sha256": item.sha256} for item in items})


def grant_written(project: Project, key: str) -> None:
    """Trusts what a person has just written into the project with a command of ours. Nothing for an agent."""
    from binnacle.lifecycle.agent_detection import find_agent_above

    if find_agent_above() is None:
        grant(project, [one.item for one in look(project).standings if one.item.key == key], how="written")


def revoke(project: Project, keys: list[str] | None) -> list[str]:
    """Takes trust back, all of it when no keys are given; returns what was trusted.

    Raises:
        ConfigError: it cannot be written down.
    """
    gone = trust.forget(project.repo, keys)
    _log(project, "revoked", {key: {} for key in gone})
    return gone


def _log(project: Project, action: str, about: dict[str, dict[str, str]]) -> None:
    """Best effort: a store that cannot be reached may be the very thing that trust is taken from."""
    with suppress(BinnacleError), open_store(project) as store, store.write(by=Actor(current_person(project))) as tx:
        for key, changes in about.items():
            tx.record("trust", key, action, changes)
