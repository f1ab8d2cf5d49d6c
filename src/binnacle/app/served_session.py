"""Which session a new MCP server is for: its own, one that was planned before, or that of the agent who started it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from binnacle.errors import NotReady, PersonNeeded, UsageError
from binnacle.lifecycle.process import ancestors, variable_of
from binnacle.project.project import Project
from binnacle.sessions.session_request import SessionRequest
from binnacle.work.session import SessionTerms


@contextmanager
def open_session(
    project: Project, terms: SessionTerms, *, recipe: str | None, session_id: str | None
) -> Iterator[SessionRequest]:
    """The session to be served. One that begins with the server also ends with it.

    `terms` has the default recipe where none was named, `recipe` what was named.

    Raises:
        UsageError: a planned session is to have another subject.
        PersonNeeded: the agent of a session asks for another one, or for more than was planned.
        NotReady: the session of the agent is over.
    """
    is_chosen = recipe is not None or not terms.is_bare
    if (own := _session_above(project, is_chosen=is_chosen or session_id is not None)) is not None:
        _check_own(project, own, recipe=recipe, session_id=session_id)
        session_id = own
    if session_id is not None:
        if not terms.is_bare:
            raise UsageError("bn mcp serve: --session brings its own subject", hint="leave out the others")
        with _resumed(project, session_id, recipe) as served:
            yield served
    elif not is_chosen:
        yield SessionRequest()
    else:
        from binnacle.sessions.planning import serving_session

        with serving_session(project, terms) as begun:
            yield SessionRequest(terms, begun)


@contextmanager
def _resumed(project: Project, session_id: str, recipe: str | None) -> Iterator[SessionRequest]:
    """A session that was planned before."""
    from binnacle.project.session_locks import hold_session_lock
    from binnacle.sessions.planning import resume_session

    terms = resume_session(project, session_id)
    terms = terms._replace(recipe=recipe or terms.recipe)
    with hold_session_lock(project, session_id):
        yield SessionRequest(terms, session_id)


def _session_above(project: Project, *, is_chosen: bool) -> str | None:
    """The session whose agent started this server: it gets its own plan, however its client is configured."""
    secret = os.environ.get("BN_SESSION", "").strip()
    found = secret or next(filter(None, (variable_of(one.pid, "BN_SESSION").strip() for one in ancestors())), "")
    if not found:
        return None
    from binnacle.config.access_tokens import id_of
    from binnacle.sessions.planning import check_secret

    try:
        check_secret(project, id_of(found), found)
    except NotReady:
        if secret and not is_chosen:
            raise
        return None  # it has ended, and what is asked for is another
    return id_of(found)


def _check_own(project: Project, own: str, *, recipe: str | None, session_id: str | None) -> None:
    """Refuses a server of another session, or with more than was planned, to the agent of a session."""
    from binnacle.runner.ports import PLANNING_RECIPE
    from binnacle.sessions.planning import planned_recipes
    from binnacle.work.recipe_names import recipe_name

    if session_id not in (None, own):
        raise PersonNeeded("only a person may serve another session", hint="leave out --session")
    if recipe is not None and recipe_name(recipe) not in (PLANNING_RECIPE, *planned_recipes(project, own)):
        raise PersonNeeded("only a person may serve a session with another recipe", hint="leave out --recipe")
