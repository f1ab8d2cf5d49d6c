"""Puts a run together: its sessions, the server its agents use, their prompts, and the loop that drives them."""

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import replace

from binnacle.app.run_request import RunRequest
from binnacle.app.run_services import open_services
from binnacle.config.clients.run_start import leave_out_binnacle
from binnacle.errors import Refused
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.project.check_file import find_trusted_checks
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_run_lock, hold_session_lock
from binnacle.project.store_opening import open_store
from binnacle.project.workspace import workspace_of
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.allowed_commands import AllowedCommands
from binnacle.runner.agents.permissions import AskPerson, by_policy, policy_sentences
from binnacle.runner.budget import RunSpending
from binnacle.runner.hooks.hook_file import find_hooks
from binnacle.runner.hooks.hook_runner import HookRunner
from binnacle.runner.loop import RunLoop
from binnacle.runner.permission_requests import PermissionRequests
from binnacle.runner.ports import AgentChoice, RunOptions, Stage, Worker
from binnacle.runner.run_context import Confirm, RunContext
from binnacle.runner.run_control import RunControl, RunStopped
from binnacle.runner.run_events import RunEnded, Tell, WarningReported
from binnacle.runner.run_inbox import RunInbox
from binnacle.runner.run_store import RunStore
from binnacle.runner.task_prover import TaskProver
from binnacle.runner.trees.person_changes import PersonChanges
from binnacle.runner.trees.run_trees import InPlace, InWorktrees, RunTrees
from binnacle.sessions.planning import session_folder
from binnacle.sessions.run_sessions import RECIPE, RunSessions, open_run, place_of, reset_run
from binnacle.work.session import SessionTerms

PERSON_CHANGES_FILE = "person-changes.json"
"""A file of a session: what the person had changed before its run began in their folder."""


async def run(
    project: Project,
    wanted: RunRequest,
    *,
    control: RunControl,
    tell: Tell,
    person: AskPerson | None,
    confirm: Confirm | None = None,
) -> RunEnded:
    """Runs agents until the work is done, or returns why it is not.

    `person` decides if the policy is to ask, unless somebody else answers first, from elsewhere; `confirm` asks the
    person a question about the run.

    Raises:
        Refused: a run of that name is already running.
        NotFound: there is none to resume.
    """
    checks = _find_checks(project, tell)  # as they are now: agents of the run can change the file
    opened = await asyncio.to_thread(_open, project, wanted)
    async with AsyncExitStack() as stack:
        for session in opened.sessions:
            stack.enter_context(hold_run_lock(project, session))
            stack.enter_context(hold_session_lock(project, session))
        cwd = workspace_of(project, wanted.start)
        lease = project.settings.number("claim.minutes") * 60
        store = RunStore(
            lambda: open_store(project, workspace=cwd), run=opened.run.id, feature=opened.terms.feature, lease=lease
        )
        base = await Git(cwd).head() or ""
        inbox = await stack.enter_async_context(RunInbox(store, control, opened.sessions, tell=tell))
        trees = await _open_trees(stack, project, wanted, opened, cwd, store, control)
        await store.note_origin(base, trees.branch, wanted.budget.limits)
        workers = [
            Worker(number=number, session=session, cwd=trees.folder(number))
            for number, session in enumerate(opened.sessions, 1)
        ]
        services = await stack.enter_async_context(open_services(project, wanted, opened, workers))
        keeper = await stack.enter_async_context(Keeper())
        asking = PermissionRequests(store, inbox, at_terminal=person, within=wanted.permission_wait, tell=tell)
        context = RunContext(
            options=_options(
                wanted, opened, cwd, services.server, checks, place=place_of(project), has_trees=bool(trees.branch)
            ),
            services=services,
            store=store,
            hooks=HookRunner(keeper, find_hooks(project.repo), repo=project.repo),
            keeper=keeper,
            control=control,
            tell=tell,
            prover=TaskProver(project, store, keeper, control=control, tell=tell),
            decide=by_policy(
                wanted.approve, own=services.own_tools, person=asking.ask, is_check=AllowedCommands(checks).has
            ),
            decide_review=by_policy("none", own=services.own_tools),
            confirm=confirm,
            spent=RunSpending(),
            pending=[],
        )
        loop = RunLoop(context, workers, trees, home=cwd, goes_on=opened.goes_on, change=opened.change)
        return await loop.run()


def _find_checks(project: Project, tell: Tell) -> tuple[str, ...]:
    """The commands of the checks that a person has trusted. Says which have no effect.

    Raises:
        ConfigError: the file of the checks is not as it should be.
    """
    trusted, ignored = find_trusted_checks(project.repo)
    if ignored:
        names = ", ".join(repr(one.name) for one in ignored)
        hint = "review them, and let agents run them: bn trust check"
        tell(WarningReported(message=f"nobody has trusted these checks as they are now: {names}", hint=hint))
    return tuple(dict.fromkeys(one.command for one in trusted))


def _open(project: Project, wanted: RunRequest) -> RunSessions:
    if wanted.is_reset:
        reset_run(project, wanted.name)
    return open_run(
        project,
        wanted.name,
        SessionTerms(wanted.recipe or RECIPE, wanted.discipline, wanted.feature),
        recipe=wanted.recipe,
        asked=wanted.spec,
        asked_file=wanted.spec_file,
        selected=wanted.tasks,
        remote=wanted.remote,
        workers=wanted.workers,
        must_go_on=wanted.is_resumed,
    )


def _without_binnacle(agent: AgentCommand, cwd: str, server: str) -> AgentCommand:
    """An agent's command, without the Binnacle that its own files configure."""
    added = leave_out_binnacle(agent.name, cwd, os.environ, server=server)
    return replace(
        agent,
        argv=(*agent.argv, *added.arguments),
        env={**agent.env, **added.env},
        session_meta=added.session_meta,
        servers_variable=added.servers_variable,
    )


def _options(
    wanted: RunRequest,
    opened: RunSessions,
    cwd: str,
    server: str,
    checks: tuple[str, ...],
    *,
    place: str,
    has_trees: bool,
) -> RunOptions:
    agent = _without_binnacle(wanted.agent, cwd, server)
    others = {who: (_without_binnacle(one, cwd, server), recipe) for who, one, recipe in wanted.agents}

    def choose(stage: Stage, discipline: str | None) -> AgentChoice:
        """By the stage, else by the discipline, else the agent of the run. A recipe is for attempts at tasks.

        Reviewers have that of their stage.
        """
        recipe = others.get(discipline or "", (agent, ""))[1] or opened.terms.recipe
        if stage == "review":
            recipe = wanted.review_recipe
        for who in (stage if stage != "do" else "", discipline or "", stage):
            if who in others:
                return AgentChoice(others[who][0], recipe)
        return AgentChoice(agent, recipe)

    return RunOptions(
        name=wanted.name,
        place=place,
        agent=agent,
        recipe=opened.terms.recipe,
        choose=choose,
        budget=wanted.budget,
        task_budget=wanted.task_budget,
        max_attempts=wanted.max_attempts,
        max_outage=wanted.max_outage,
        has_spec=bool(opened.run.asked),
        allows_gaps=wanted.allows_gaps,
        may=policy_sentences(wanted.approve, has_checks=bool(checks), commits=has_trees or wanted.auto_commit),
        checks=() if wanted.approve == "none" else checks,
        notifies=wanted.notifies,
        silence=wanted.silence,
        within=wanted.within,
    )


async def _open_trees(
    stack: AsyncExitStack,
    project: Project,
    wanted: RunRequest,
    opened: RunSessions,
    cwd: str,
    store: RunStore,
    control: RunControl,
) -> RunTrees:
    """The folders that the workers work in."""
    if not wanted.has_worktree and wanted.workers == 1 and not wanted.remote:
        git = Git(cwd)
        if not await git.root():
            return InPlace(cwd, None)
        person = PersonChanges(git, os.path.join(session_folder(project, opened.sessions[0]), PERSON_CHANGES_FILE))
        await person.note(again=not opened.goes_on)
        return InPlace(cwd, git, person=person if wanted.auto_commit else None)
    folder = os.path.join(project.data_dir, "worktrees")
    trees = InWorktrees(
        start=cwd,
        folder=folder,
        name=wanted.name,
        remote=wanted.remote,
        lease=(lambda: store.hold_lease(f"merge {store.run}", control)) if wanted.remote else None,
        moves_checkout=not wanted.has_worktree,
    )
    try:
        await trees.begin()
    except RunStopped as error:
        raise Refused("the run was stopped before it began", hint="start it again with the same command") from error
    stack.push_async_callback(trees.close)
    return trees
