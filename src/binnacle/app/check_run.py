"""Runs checks for a command: which commit and base, and for whom."""

from collections.abc import Callable, Sequence
from functools import partial

from binnacle.checks.check_runner import Tell
from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.lifecycle.agent_detection import find_agent_environment
from binnacle.processes.keeper import Keeper
from binnacle.project.project import Project
from binnacle.project.store_opening import open_store
from binnacle.proving.change_prover import ChangeProver, CheckedChange, EvidenceOrigin
from binnacle.proving.proof_store import OpenedStore
from binnacle.proving.task_closing import ClosedTask, DoneAsker, TaskCloser
from binnacle.proving.work_range import WorkRange, find_base, resolve_commit
from binnacle.work.done_gate import DoneRequest
from binnacle.work.evidence import Evidence


async def run_checks(
    project: Project,
    *,
    folder: str,
    asked_by: str,
    names: Sequence[str] = (),
    commit: str = "HEAD",
    base: str | None = None,
    is_bug: bool = False,
    tell: Tell | None = None,
    on_result: Callable[[Evidence], None] | None = None,
) -> CheckedChange:
    """Runs the named checks, or all that are trusted, on a commit of the repository at `folder`.

    Without a `base`, it is where the commit left the main branch. Cancelling ends everything that was started.

    Raises:
        GitError: there is no such commit.
        NotFound: there is no check of that name.
        Refused: nobody has trusted it.
        ConfigError: the file of checks is wrong.
    """
    git = Git(folder)
    if await git.root() is None:
        raise GitError(f"not a working tree of git: {folder}", hint="checks run on commits: make one with git init")
    commit_id = await resolve_commit(git, commit)
    base_id = await find_base(git, commit_id) if base is None else await resolve_commit(git, base)
    uncommitted = tuple(await git.list_changed()) if commit_id == await git.head() else ()
    store = OpenedStore(partial(open_store, project))
    async with Keeper() as keeper:
        prover = ChangeProver(
            project, store, keeper,
            origin=EvidenceOrigin(asked_by=asked_by), tell=tell, environ=find_agent_environment(),
        )  # fmt: skip
        change = WorkRange(folder, commit_id, base_id, uncommitted)
        return await prover.check(change, names, is_bug=is_bug, on_result=on_result)


async def close_task(
    project: Project,
    request: DoneRequest,
    asker: DoneAsker,
    *,
    change: WorkRange | None = None,
    tell: Tell | None = None,
) -> ClosedTask:
    """Runs the checks of a request for `done` and closes its task, or says what is missing.

    `change` is what was reviewed; without it, what was committed in the asker's working tree.

    Raises:
        GitError: there is no commit to check.
        ConfigError: the file of checks is wrong.
    """
    closer = TaskCloser(
        project,
        OpenedStore(partial(open_store, project)),
        max_attempts=int(project.settings.number("checks.attempts")),
    )
    # An agent chooses the programs of its own shell, so those that its client was started with count.
    asker = asker._replace(environ=find_agent_environment())
    return await closer.close(request, asker, change=change, tell=tell)
