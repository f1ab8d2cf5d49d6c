"""Verifies closed tasks for a command: which tasks, at which commit, and for whom."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from binnacle.errors import GitError, InvalidInput, NotFound, Refused
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.project.project import Project
from binnacle.project.store_opening import open_store
from binnacle.proving.change_prover import ChangeProver, EvidenceOrigin
from binnacle.proving.proof_store import OpenedStore
from binnacle.proving.verification import ClosedWorkVerifier, Tell, Verification
from binnacle.proving.work_range import resolve_commit
from binnacle.store import runs, tasks
from binnacle.store.transaction import Reader
from binnacle.store.views import closed_work
from binnacle.work import steps
from binnacle.work.run import RunRecord
from binnacle.work.task import Task


class WantedWork(Struct, frozen=True, kw_only=True):
    """The tasks to verify, and the run that they were named by."""

    tasks: Sequence[Task]
    run: RunRecord | None = None


def find_wanted(tx: Reader, names: Sequence[str]) -> WantedWork:
    """The tasks that are named, those of a run, or all that are done.

    Raises:
        NotFound: there is no such task, and no such run.
    """
    if not names:
        return WantedWork(tasks=closed_work.list_done(tx))
    try:
        return WantedWork(tasks=[tasks.get(tx, one) for one in dict.fromkeys(names)])
    except (NotFound, InvalidInput) as error:
        if len(names) > 1:
            raise
        try:
            run = runs.find(tx, names[0])
        except NotFound:
            hint = ("name a task or a run", steps.LIST_TASKS, steps.LIST_SESSIONS)
            raise NotFound(f"no task and no run {names[0][:60]!r}", hint=hint) from error
        return WantedWork(tasks=closed_work.list_done_in_run(tx, run.id), run=run)


async def verify_closed(
    project: Project,
    *,
    folder: str,
    asked_by: str,
    names: Sequence[str] = (),
    commit: str = "",
    tell: Tell | None = None,
) -> Verification:
    """Runs what closed tasks were closed with again, at a commit of the repository at `folder`.

    The commit is that of the run, or HEAD, if none is named. Cancelling ends everything that was started.

    Raises:
        NotFound: there is no such task or run.
        GitError: there is no such commit.
        ConfigError: the file of checks is wrong.
    """
    git = Git(folder)
    if await git.root() is None:
        raise GitError(f"not a working tree of git: {folder}", hint="checks run on commits: make one with git init")
    store = OpenedStore(partial(open_store, project))
    wanted = await store.read(lambda tx: find_wanted(tx, names))
    commit_id = await resolve_commit(git, commit or await _find_head(git, wanted.run))

    def tell_what(name: str, what: str) -> None:
        if tell is not None:
            tell(None, f"{name}: {what}")

    async with Keeper() as keeper:
        prover = ChangeProver(project, store, keeper, origin=EvidenceOrigin(asked_by=asked_by), tell=tell_what)
        return await ClosedWorkVerifier(prover, store, folder, reuses=False, tell=tell).verify(wanted.tasks, commit_id)


async def _find_head(git: Git, run: RunRecord | None) -> str:
    """Where the work is: the branch of a run, the commit at which it ended, or what is checked out.

    Raises:
        Refused: the run has left no commit.
    """
    if run is None:
        return "HEAD"
    branch = f"refs/heads/{run.branch}"
    if run.branch and (await git.run("rev-parse", "--verify", "--quiet", branch)).code == 0:
        return branch
    if not run.head:
        raise Refused(f"the run {run.name} has left no commit", hint="name one with --commit")
    return run.head
