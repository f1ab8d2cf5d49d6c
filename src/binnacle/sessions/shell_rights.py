"""The rights of a command: those of the session in whose shell it runs. For people, no plan is loaded."""

import os
from typing import TYPE_CHECKING

from binnacle.config.directories import PROJECT_DIR
from binnacle.project.project import Project
from binnacle.store.transaction import Reader
from binnacle.tools.agent_identity import find_in_shell
from binnacle.tools.planned_session import find_bound
from binnacle.work.session import BARE, SessionRecord, SessionTerms

if TYPE_CHECKING:
    from binnacle.plan.recipe import Recipe
    from binnacle.plan.rights import SessionRights


def find_rights(project: Project, tx: Reader) -> "SessionRights | None":
    """What the session that runs this command may do; None if it has no limits of its own.

    A person may do everything. An agent without a planned session has the recipe `default`, which allows everything
    that is not reserved for people, unless the project has its own `default`.
    """

    bound = find_bound(tx, os.environ)
    if bound is not None:
        return _rights_of(project, tx, bound)
    if not _has_own_default(project) or find_in_shell(tx, os.environ) is None:
        return None
    return load_rights(project, tx, BARE)


def load_rights(project: Project, tx: Reader, terms: SessionTerms, *, first: "Recipe | None" = None) -> "SessionRights":
    """What a session under these terms may do now, without any right that `first` did not give."""
    from binnacle.plan.recipe_limits import narrow
    from binnacle.plan.recipe_loader import load_recipe
    from binnacle.plan.rights import SessionRights
    from binnacle.plan.session_plan import subject
    from binnacle.project.tool_catalog import catalog_of

    catalog = catalog_of(project)
    recipe = narrow(load_recipe(terms.recipe, catalog, repo=project.repo), first, catalog)
    return SessionRights(recipe, catalog, subject(tx, terms.discipline, terms.feature, terms.task))


def _rights_of(project: Project, tx: Reader, session: SessionRecord) -> "SessionRights":
    """What a planned session may do now: a run plans its sessions again for every iteration."""
    from binnacle.plan.session_files import is_kept, read
    from binnacle.sessions.planning import session_folder, terms_of

    folder = session_folder(project, session.id)
    kept = read(folder) if is_kept(folder) else None
    terms = terms_of(session)
    if kept is None:
        return load_rights(project, tx, terms)
    terms = terms._replace(recipe=kept.recipe, task=kept.task or terms.task)
    return load_rights(project, tx, terms, first=kept.limits)


def _has_own_default(project: Project) -> bool:
    return os.path.exists(os.path.join(project.repo, PROJECT_DIR, "recipes", f"{BARE.recipe}.yaml"))
