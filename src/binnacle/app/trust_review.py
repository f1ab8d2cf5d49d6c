"""Everything in a project that has an effect only once a person has trusted it."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from binnacle.config import settings, trust
from binnacle.config.directories import PROJECT_DIR
from binnacle.config.repository_files import is_folder_inside
from binnacle.config.trust import How, State, TrustedItem, TrustItem
from binnacle.errors import BinnacleError, ConfigError
from binnacle.project.project import Project, current_person
from binnacle.project.store_opening import open_store
from binnacle.store.features import list_disciplines
from binnacle.work.actor import Actor

HOW: dict[How, str] = {
    "terminal": "asked on a terminal",
    "yes": "--yes, without a question",
    "written": "written into the project by the person",
    "page": "asked on the page",
}


class TrustStanding(NamedTuple):
    """An item and whether it is trusted."""

    item: TrustItem
    state: State
    before: TrustedItem | None
    """The content that was trusted last, if any."""


class TrustFindings(NamedTuple):
    """All items of a project."""

    standings: list[TrustStanding]
    problems: list[ConfigError]
    """Files that cannot be read; nothing in them has an effect."""


def look(project: Project) -> TrustFindings:
    """All items of a project, trusted or not.

    Raises:
        ConfigError: the trust file cannot be read.
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
    """The keys of items that wait for a person's trust; empty if the trust file cannot be read."""
    with suppress(ConfigError):
        return [one.item.key for one in look(project).standings if one.state != "trusted"]
    return []


def _finders(project: Project) -> Iterable[Callable[[], list[TrustItem]]]:
    """The functions that find items, one for each part of the product that reads them."""
    from binnacle.bridge import project_scripts
    from binnacle.project import check_file
    from binnacle.runner import prompt_template
    from binnacle.runner.hooks import hook_file
    from binnacle.upstream.configuration import server_overview

    repo = project.repo
    return (
        lambda: settings.find_items(repo),
        lambda: server_overview.find_items(repo, _find_discipline_servers(project)),
        lambda: hook_file.find_trust_items(repo),
        lambda: check_file.find_trust_items(repo),
        lambda: project_scripts.find_trust_items(repo),
        lambda: prompt_template.find_trust_items(repo),
        lambda: _recipes(project),
    )


def _recipes(project: Project) -> list[TrustItem]:
    """Recipes that need trust. Loads nothing if the project has no recipes."""

    if not is_folder_inside(project.repo, f"{PROJECT_DIR}/recipes"):
        return []
    from binnacle.plan.recipe_loader import find_items
    from binnacle.project.tool_catalog import catalog_of

    return find_items(project.repo, catalog_of(project))


def _find_discipline_servers(project: Project) -> list[Mapping[str, object]]:
    """The servers of disciplines; none while the store cannot be read, because then no session can use them."""

    with suppress(BinnacleError), open_store(project, create=False) as store, store.read() as tx:
        return [one.upstreams for one in list_disciplines(tx) if one.upstreams]
    return []


def grant(project: Project, items: Iterable[TrustItem], *, how: How) -> None:
    """Trusts items as they are, on behalf of the current person, and logs it.

    Raises:
        ConfigError: it cannot be written down.
    """
    items = list(items)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    trust.keep(project.repo, items, by=current_person(project), at=at, how=how)
    _log(project, "granted", {item.key: {"how": HOW[how], "sha256": item.sha256} for item in items})


def grant_written(project: Project, key: str) -> None:
    """Trusts what a person has just written into the project with `bn`. Does nothing for an agent."""
    from binnacle.lifecycle.agent_detection import find_agent_above

    if find_agent_above() is None:
        grant(project, [one.item for one in look(project).standings if one.item.key == key], how="written")


def revoke(project: Project, keys: list[str] | None) -> list[str]:
    """Revokes trust, all of it if no keys are given. Returns what was trusted.

    Raises:
        ConfigError: it cannot be written down.
    """
    gone = trust.forget(project.repo, keys)
    _log(project, "revoked", {key: {} for key in gone})
    return gone


def _log(project: Project, action: str, about: dict[str, dict[str, str]]) -> None:
    """Logs, best effort: the store that cannot be reached may be what loses its trust."""
    with suppress(BinnacleError), open_store(project) as store, store.write(by=Actor(current_person(project))) as tx:
        for key, changes in about.items():
            tx.record("trust", key, action, changes)
