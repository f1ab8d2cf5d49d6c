"""Makes the plans of sessions from the project and its store, and saves them for clients to start from."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from binnacle.errors import NotReady, Refused
from binnacle.lifecycle.process import this_process
from binnacle.plan.prompt_data import RunSituation, load
from binnacle.plan.recipe import Recipe, matching
from binnacle.plan.recipe_limits import narrow
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_files import SavedPlan, is_kept, read, write
from binnacle.plan.session_plan import SessionPlan, plan, subject
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_session_lock, is_abandoned
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.sessions.session_request import SessionRequest
from binnacle.store import agents, reports, sessions, task_moves, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.catalog import Catalog
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.recipe_names import recipe_name
from binnacle.work.session import SessionRecord, SessionTerms
from binnacle.work.status import is_closed

REPORTS = ("report_done", "done")
"""The names of the tool that marks a recipe whose agent reports the result of its task."""


class PlanWithRecipe(NamedTuple):
    """A plan and the recipe it was made from."""

    recipe: Recipe
    plan: SessionPlan


def make_plan(
    tx: Reader,
    project: Project,
    catalog: Catalog,
    terms: SessionTerms,
    *,
    session: str = "",
    said: str = "",
    extra: str = "",
    run: RunSituation | None = None,
    first: Recipe | None = None,
) -> PlanWithRecipe:
    """The current plan of a session under these terms, without any right that `first` did not give.

    `said` is what a person wants from the session, `extra` what else its agent should know, `run` where and how it
    works if it belongs to a run.
    """
    recipe = narrow(load_recipe(terms.recipe, catalog, repo=project.repo), first, catalog)
    about = subject(tx, terms.discipline, terms.feature, terms.task)
    loaded = load(
        tx,
        project.repo,
        discipline=about.discipline.name if about.discipline else None,
        feature=about.feature,
        task=about.task.id if about.task else None,
        session=session or None,
        user_input=said,
        extra=extra,
        run=run,
        sections=recipe.sections,
    )
    return PlanWithRecipe(recipe, plan(recipe, catalog, about, loaded, session=session))


def begin_session(
    tx: Writer, project: Project, recipe: Recipe, terms: SessionTerms, *, name: str = ""
) -> SessionRecord:
    """Opens a session under these terms.

    Earlier sessions on the same task that were killed are settled first. If the recipe has the tools to report on the
    task, the session takes it until its end.

    Raises:
        Claimed: someone else works on the task.
    """
    about = subject(tx, terms.discipline, terms.feature, terms.task)
    session = sessions.start(
        tx,
        name=name,
        recipe=recipe.name,
        discipline=about.discipline.name if about.discipline else None,
        feature=about.feature,
        task_id=about.task.id if about.task else None,
    )
    join_session(tx, session.id, name=name or terms.recipe)
    if about.task is not None:
        _end_abandoned(tx, project, about.task.id, but=session.id)
        if _has_reports(recipe):
            with tx.acting_as(agent_of(tx, session.id), session=session.id):
                task_moves.start(tx, about.task.id)
    return session


def _end_abandoned(tx: Writer, project: Project, task_id: str, *, but: str) -> None:
    """Settles and ends the sessions on a task whose server was killed."""
    others = [session.id for session in sessions.list_active_on(tx, task_id) if session.id != but]
    dead = [session for session in others if is_abandoned(project, session)]
    reports.settle_abandoned(tx, task_id, but=but, alive=set(others) - set(dead))
    for session in dead:
        sessions.abort(tx, session, reason="its server was killed")


def join_session(tx: Writer, session_id: str, *, name: str) -> None:
    """Registers the agent of a planned session, served by this process."""
    here = this_process()
    agents.join_session(tx, session_id, name=name, client=name, server_pid=here.pid, server_started=here.started)


def agent_of(tx: Reader, session: str) -> Actor:
    """The actor of a session's clients: the agent that started the server, or the session.

    Raises:
        NotFound: BN_AGENT_ID names an agent that is unknown or has ended.
    """
    named = os.environ.get("BN_AGENT_ID", "").strip()
    return Actor(agents.get_active(tx, named).id if named else session, "agent")


@contextmanager
def serving_session(project: Project, terms: SessionTerms) -> Iterator[str]:
    """A session that lasts as long as its server. Leaving the block settles its task."""
    recipe = load_recipe(terms.recipe, catalog_of(project), repo=project.repo)
    with open_store(project) as store:
        with store.write(by=SYSTEM) as tx:
            session = begin_session(tx, project, recipe, terms)
        with hold_session_lock(project, session.id):
            try:
                yield session.id
            finally:
                with store.write(by=SYSTEM, session=session.id) as tx:
                    end_session(tx, recipe, session.id, reason="the client went away")


def end_session(tx: Writer, recipe: Recipe, session_id: str, *, reason: str, is_good: bool = False) -> None:
    """Settles a session's task, and ends the session if it has not ended.

    If the recipe has the tools to report, no report means that the agent was stuck; otherwise the agent was stuck only
    if it still holds the task. A session whose task is closed is complete; one without a task is, if it ended well.
    """
    session = sessions.get(tx, session_id)
    if session.task_id and (_has_reports(recipe) or reports.is_due(tx, session)):
        reports.settle(tx, session_id)
    if session.status != "active":
        return
    task = next(iter(tasks.get_many(tx, [session.task_id]).values()), None) if session.task_id else None
    if task is None:
        (sessions.conclude if is_good else sessions.abort)(tx, session_id, reason=reason)
    elif is_closed(task.status):
        sessions.conclude(tx, session_id, reason=f"{task.id} is {task.status}")
    else:
        sessions.abort(tx, session_id, reason=f"{reason}; {task.id} is {task.status}")


def _has_reports(recipe: Recipe) -> bool:
    return matching((rule.name for rule in recipe.tools), REPORTS) is not None


def resume_session(project: Project, session: str) -> SessionTerms:
    """Resumes a planned session and returns its terms, after checking that its files are unchanged.

    Raises:
        NotFound: there is no such session.
        Refused: it has ended, or one of its files was edited.
    """
    with open_store(project, create=False) as store, store.read() as tx:
        found = sessions.get(tx, session)
        if found.status != "active":
            raise Refused(f"session {session} is {found.status}", hint="start a new one with: bn plan launch")
        kept_plan(tx, project, catalog_of(project), found)
    with open_store(project) as store, store.write(by=SYSTEM) as writer:
        agent_of(writer, session)
        join_session(writer, session, name=found.name or found.recipe)
    return terms_of(found)


def check_secret(project: Project, session: str, secret: str) -> None:
    """Checks the secret of a session.

    Raises:
        NotReady: the secret is wrong.
    """
    with open_store(project, create=False) as store, store.read() as tx:
        if not sessions.has_secret(tx, session, secret):
            raise NotReady(
                f"session {session[:40]!r} needs its own token",
                hint=f"make one with: bn mcp token add --session {session[:40]}",
            )


def prompt_of(project: Project, session: SessionRequest) -> str:
    """The current prompt of a session."""
    with open_store(project, create=False) as store, store.read() as tx:
        said = kept_input(project, session.id) if session.id else ""
        made = make_plan(tx, project, catalog_of(project), session.terms, session=session.id or "", said=said)
        return made.plan.prompt.text


def kept_limits(project: Project, session: str, recipe: str) -> Recipe | None:
    """The saved limits of a session under a recipe, or None."""
    folder = session_folder(project, session)
    kept = read(folder) if is_kept(folder) else None
    return kept.limits if kept and recipe_name(kept.recipe) == recipe_name(recipe) else None


def planned_recipes(project: Project, session: str) -> tuple[str, ...]:
    """The recipes that a session was planned under, by their own names."""
    with open_store(project, create=False) as store, store.read() as tx:
        recipe = terms_of(sessions.get(tx, session)).recipe
    folder = session_folder(project, session)
    kept = read(folder) if is_kept(folder) else None
    return (recipe, recipe_name(kept.recipe)) if kept else (recipe,)


def kept_input(project: Project, session: str) -> str:
    """What a person wants from a session, if it was saved."""
    folder = session_folder(project, session)
    kept = read(folder) if is_kept(folder) else None
    return kept.input if kept else ""


def terms_of(session: SessionRecord) -> SessionTerms:
    """The terms under which a session was opened."""
    return SessionTerms(recipe_name(session.recipe) or "default", session.discipline, session.feature, session.task_id)


def session_folder(project: Project, session: str) -> str:
    """The folder of a session's files."""
    return os.path.join(project.data_dir, "sessions", session)


def keep_plan(project: Project, made: SessionPlan) -> SavedPlan:
    """Writes the files of a session, all or none."""
    return write(session_folder(project, made.session), made, cwd=project.repo)


def kept_plan(tx: Reader, project: Project, catalog: Catalog, session: SessionRecord) -> SessionPlan:
    """The saved plan of a session; made again if the program or its recipe has changed since.

    Raises:
        Refused: a file was edited; the error says what differs.
    """
    folder = session_folder(project, session.id)
    kept = read(folder) if is_kept(folder) else None
    said = kept.input if kept else ""
    first = kept.limits if kept else None
    made = make_plan(tx, project, catalog, terms_of(session), session=session.id, said=said, first=first)
    if kept is not None and kept.catalog == made.plan.catalog:
        return made.plan
    write(folder, made.plan, cwd=project.repo)
    return made.plan
