"""The sessions of a run in the store: found where an earlier run left them, or opened.

A run is known by its name. On a store that several machines share each has sessions of its own under that name, and
knows them by the files it keeps for them.
"""

from contextlib import ExitStack
from typing import NamedTuple

from binnacle.errors import NotFound
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_plan import subject
from binnacle.project.project import Project
from binnacle.project.session_locks import alone, was_driven
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.sessions.planning import join_session, kept_input
from binnacle.store import features, sessions, task_moves, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import SYSTEM
from binnacle.work.session import SessionRecord, SessionTerms

RECIPE = "loop"
"""Of a run for which nobody named another."""

MAX_WORKERS = 64


class RunSessions(NamedTuple):
    """What a run works with."""

    sessions: list[str]
    """One for each worker."""

    terms: SessionTerms
    said: str
    """What the person wants of it."""

    goes_on: bool
    """Whether it was begun before."""

    secrets: dict[str, str]
    """What proves to `bn` that a process belongs to a session, by its id."""


def open_run(
    project: Project, name: str, terms: SessionTerms, *, recipe: str | None, said: str, workers: int, must_go_on: bool
) -> RunSessions:
    """The sessions of the run called `name`. What it leaves out is as it was when the run was begun.

    Workers that it no longer has give back what they held.

    Raises:
        NotFound: there is no such run to go on with.
        Refused: it is going on in another process.
    """
    load_recipe(recipe or RECIPE, catalog_of(project), repo=project.repo)  # what is wrong with it is said first
    with ExitStack() as stack, open_store(project) as store, store.write(by=SYSTEM) as tx:
        before = own_session(tx, project, name)
        if before is None:
            if must_go_on:
                raise NotFound(f"no run {name!r} to go on with", hint="begin one: bn run SPEC")
        else:
            stack.enter_context(alone(project, before.id))
            terms = SessionTerms(recipe or before.recipe, terms.discipline or before.discipline, before.feature)
            said = said or kept_input(project, before.id)
        if terms.feature is None and said and before is None:
            terms = terms._replace(feature=_ensure_feature(tx, name))
        subject(tx, terms.discipline, terms.feature, None)  # that they exist is known before anything is begun
        first = before or _start(tx, name, terms)
        others = [own_session(tx, project, worker) or _start(tx, worker, terms) for worker in _names(name, 2, workers)]
        for gone in _names(name, workers + 1, MAX_WORKERS):
            _dismiss(tx, own_session(tx, project, gone))
        ids: list[str] = [one.id for one in (first, *others)]
        for session_id in ids:
            join_session(tx, session_id, name=name)
        secrets = {session_id: sessions.issue_secret(tx, session_id) for session_id in ids}
        return RunSessions(ids, terms, said, before is not None, secrets)


def reset_run(project: Project, name: str) -> None:
    """Gives up the runs of this name: their sessions end, and what is open of their feature is cancelled.

    Raises:
        Refused: one is going on.
    """
    with ExitStack() as stack, open_store(project) as store, store.write(by=SYSTEM) as tx:
        for worker in _names(name, 1, MAX_WORKERS):
            while (found := own_session(tx, project, worker)) is not None:
                stack.enter_context(alone(project, found.id))
                _dismiss(tx, found)
                _cancel_open(tx, found.feature)


def newest_run(tx: Reader, project: Project) -> str | None:
    """The name of the run of this machine that was begun last and has not ended."""
    ours = (one for one in sessions.list_sessions(tx) if one.status == "active" and was_driven(project, one.id))
    return next((one.name for one in ours if "/" not in one.name), None)


def _names(name: str, first: int, last: int) -> list[str]:
    return [name if number == 1 else f"{name}/{number}" for number in range(first, last + 1)]


def own_session(tx: Reader, project: Project, name: str) -> SessionRecord | None:
    """The session of this name that this machine drives, or left."""
    return next((one for one in sessions.list_active_named(tx, name) if was_driven(project, one.id)), None)


def _start(tx: Writer, name: str, terms: SessionTerms) -> SessionRecord:
    return sessions.start(
        tx, name=name, recipe=terms.recipe, discipline=terms.discipline, feature=terms.feature, task_id=None
    )


def _dismiss(tx: Writer, session: SessionRecord | None) -> None:
    if session is not None:
        for task in tasks.list_held_by(tx, session.id):
            task_moves.release(tx, task.id, force=True)
        sessions.abort(tx, session.id, reason="its worker is gone")


def _cancel_open(tx: Writer, feature: str | None) -> None:
    if feature is not None:
        still_open, _ = tasks.list_tasks(tx, TaskFilter(feature=feature), limit=100_000)
        for task in still_open:
            task_moves.skip(tx, task.id, reason="the run was reset", force=True)


def _ensure_feature(tx: Writer, name: str) -> str:
    """The feature that a specification is about, made if it is not there."""
    try:
        return features.get(tx, name).name
    except NotFound:
        return features.add(tx, name, {"description": f"What the run {name} was asked for."}, force=True).name
