"""The sessions of a run in the store: resumed from an earlier run, or opened.

A run is identified by its name. If several machines share a store, each machine has its own sessions under that name,
and recognizes them by their lock files.
"""

import platform
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from binnacle.errors import NotFound, Refused
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_plan import subject
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_run_lock, was_driven
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.sessions.planning import join_session, kept_input
from binnacle.store import dependencies, features, run_planning, runs, sessions, task_moves, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import SYSTEM
from binnacle.work.planning_steps import SpecChange
from binnacle.work.run import RunRecord
from binnacle.work.session import SessionRecord, SessionTerms
from binnacle.work.status import is_closed

RECIPE = "loop"
"""The default recipe of a run."""

MAX_WORKERS = 64


class RunSessions(NamedTuple):
    """The sessions of a run and their terms."""

    run: RunRecord
    sessions: list[str]
    """One for each worker."""

    terms: SessionTerms
    said: str
    """What the person wants from the run, for its agents."""

    change: SpecChange | None
    """How the specification differs from that of the run before it was resumed."""

    goes_on: bool
    """Whether it resumes an earlier run."""

    secrets: dict[str, str]
    """The secrets that prove to `bn` that a process belongs to a session, by session id."""


def open_run(
    project: Project,
    name: str,
    terms: SessionTerms,
    *,
    recipe: str | None,
    asked: str,
    asked_file: str,
    selected: Sequence[str] = (),
    remote: str,
    workers: int,
    must_go_on: bool,
) -> RunSessions:
    """The sessions of the run called `name`. Terms that are left out are those of the earlier run.

    `selected` are the tasks that it is about; if none are given, those that it had.

    Workers that the run no longer has give back their tasks. With a changed specification, what the tasks cover is
    carried over to it.

    Raises:
        NotFound: there is no such run to resume.
        Refused: it is running in another process, or was given another specification; or a selected task is closed, or
            waits for one that is not selected.
    """
    load_recipe(recipe or RECIPE, catalog_of(project), repo=project.repo)  # errors in it are reported first
    with ExitStack() as stack, open_store(project) as store, store.write(by=SYSTEM) as tx:
        before = own_session(tx, project, name)
        if before is None:
            if must_go_on:
                raise NotFound(f"no run {name!r} to resume", hint="begin one: bn run SPEC")
        else:
            stack.enter_context(hold_run_lock(project, before.id))
            terms = SessionTerms(recipe or before.recipe, terms.discipline or before.discipline, before.feature)
        if terms.feature is None and asked and before is None:
            terms = terms._replace(feature=_ensure_feature(tx, name))
        subject(tx, terms.discipline, terms.feature, None)  # checks that they exist before anything is begun
        chosen = _check_selection(tx, selected)
        run, change = _ensure_run(tx, project, name, terms.feature, asked, asked_file, chosen, remote)
        said = _describe_asked(run) or (kept_input(project, before.id) if before else "")
        first = before or _start(tx, name, terms)
        others = [own_session(tx, project, worker) or _start(tx, worker, terms) for worker in _names(name, 2, workers)]
        for gone in _names(name, workers + 1, MAX_WORKERS):
            _dismiss(tx, own_session(tx, project, gone))
        ids: list[str] = [one.id for one in (first, *others)]
        for session_id in ids:
            join_session(tx, session_id, name=name)
            sessions.join_run(tx, session_id, run.id, place_of(project))
        secrets = {session_id: sessions.issue_secret(tx, session_id) for session_id in ids}
        return RunSessions(run, ids, terms, said, change, before is not None, secrets)


def reset_run(project: Project, name: str) -> None:
    """Resets the runs with this name: ends their sessions and cancels the open tasks of their features.

    Raises:
        Refused: one is running.
    """
    with ExitStack() as stack, open_store(project) as store, store.write(by=SYSTEM) as tx:
        for worker in _names(name, 1, MAX_WORKERS):
            while (found := own_session(tx, project, worker)) is not None:
                stack.enter_context(hold_run_lock(project, found.id))
                _dismiss(tx, found)
                _cancel_open(tx, found.feature)


def newest_run(tx: Reader, project: Project) -> str | None:
    """The name of this machine's newest run that has not ended."""
    ours = (one for one in sessions.list_sessions(tx) if one.status == "active" and was_driven(project, one.id))
    return next((one.name for one in ours if "/" not in one.name), None)


def _check_selection(tx: Reader, selected: Sequence[str]) -> tuple[str, ...]:
    """The ids of tasks that a person selects for a run.

    Raises:
        NotFound, Ambiguous: one of them is not a task.
        Refused: one is closed, or waits for an open task that is not selected.
    """
    ids = list(dict.fromkeys(tasks.resolve(tx, one) for one in selected))
    for task in tasks.get_many(tx, ids).values():
        if is_closed(task.status):
            raise Refused(f"{task.id} is {task.status} already", hint="leave it out, or reopen it")
    waits = {one: [need.depends_on for need in needs] for one, needs in dependencies.dependencies_of(tx, ids).items()}
    needed = tasks.get_many(tx, {need for needs in waits.values() for need in needs})
    for task_id in ids:
        open_ = [needed[one] for one in waits.get(task_id, ()) if not is_closed(needed[one].status)]
        missing = [one.id for one in open_ if one.id not in ids and one.parent not in ids]
        if missing:
            hint = f"select these too, or finish them first: {', '.join(missing)}"
            raise Refused(f"{task_id} waits for {', '.join(missing)}, not selected", hint=hint)
    return tuple(ids)


def _names(name: str, first: int, last: int) -> list[str]:
    return [name if number == 1 else f"{name}/{number}" for number in range(first, last + 1)]


def own_session(tx: Reader, project: Project, name: str) -> SessionRecord | None:
    """The session with this name that a run on this machine drives or drove."""
    return next((one for one in sessions.list_active_named(tx, name) if was_driven(project, one.id)), None)


def _start(tx: Writer, name: str, terms: SessionTerms) -> SessionRecord:
    return sessions.start(
        tx, name=name, recipe=terms.recipe, discipline=terms.discipline, feature=terms.feature, task_id=None
    )


def place_of(project: Project) -> str:
    """The machine and the checkout of a project: where the unmerged work of a run is."""
    return f"{platform.node()}:{project.repo}"


def _ensure_run(
    tx: Writer,
    project: Project,
    name: str,
    feature: str | None,
    asked: str,
    asked_file: str,
    selected: Sequence[str],
    remote: str,
) -> tuple[RunRecord, SpecChange | None]:
    """The run of that name, reopened, or a new one; and how its specification was changed.

    Raises:
        Refused: it works in another checkout too, and the two have no common remote; or it has another specification.
    """
    known = before = runs.find_newest(tx, name)
    if known is None or not any(one.status == "active" for one in runs.list_sessions(tx, known.id)):
        known = runs.start(tx, name, feature=feature, asked=asked, asked_file=asked_file, selected=selected)
    elsewhere = {one.place for one in runs.list_sessions(tx, known.id) if one.status == "active" and one.place} - {
        place_of(project)
    }
    if elsewhere and not remote:
        hint = (
            "set the git remote that both can reach: bn config set run.remote origin",
            "or give this run another name with --name",
        )
        raise Refused(f"the run {name!r} works in another checkout too: {', '.join(sorted(elsewhere))}", hint=hint)
    change = None
    if before is not None and asked and before.asked not in ("", asked):
        change = run_planning.change_specification(tx, before, asked)
        if before.id == known.id and not change.ids:
            hint = ("give this run another name with --name", "or abandon the other one with --reset")
            raise Refused(f"the run {name!r} has another specification, with no requirement of this one", hint=hint)
    runs.reopen(tx, known.id)
    changes: dict[str, object] = {"remote": remote} if remote else {}
    changes |= {"tasks": tuple(selected)} if selected else {}
    changes |= {"asked": asked, "asked_file": asked_file} if asked else {}
    changes |= {"is_planned": False} if asked and asked != known.asked else {}
    return (runs.update(tx, known.id, **changes) if changes else runs.get(tx, known.id)), change


def _describe_asked(run: RunRecord) -> str:
    """The specification of a run, with its name."""
    where = f"The specification, {run.asked_file}:\n\n" if run.asked_file else ""
    return f"{where}{run.asked}" if run.asked else ""


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
    """The feature of a specification, created if it does not exist."""
    try:
        return features.get(tx, name).name
    except NotFound:
        return features.add(tx, name, {"description": f"What the run {name} was asked for."}, force=True).name
