"""The possible results of preparing a working tree and of a merge, as values."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct


class WorkerTree(NamedTuple):
    """The working tree of a worker, and the branch of the task that it works on."""

    number: int
    path: str
    branch: str


class MergeDone(Struct, frozen=True, kw_only=True):
    """The work of a branch is in the branch of the run."""

    branch: str
    into: str
    commit: str
    """The commit that the branch of the run now has."""

    files: int


class NothingToMerge(Struct, frozen=True, kw_only=True):
    """The branch has nothing that the branch of the run does not have."""

    branch: str


class MergeHeld(Struct, frozen=True, kw_only=True):
    """The branch could not be merged now, and is kept."""

    branch: str
    into: str
    reason: str
    files: tuple[str, ...] = ()


class MergeRefused(Struct, frozen=True, kw_only=True):
    """What merging the branch gives did not pass its checks. The branch is kept, to be changed."""

    branch: str
    into: str
    reason: str


class MergeConflict(Struct, frozen=True, kw_only=True):
    """Both branches changed the same place. The conflict is in the worker's tree, to be resolved there."""

    worker: int
    """0 if it is in no tree."""

    branch: str
    into: str
    files: tuple[str, ...]
    branch_commits: tuple[str, ...] = ()
    """The commits of the task's branch, each with its title."""

    into_commits: tuple[str, ...] = ()
    """The commits of the branch of the run that changed the same files, each with its title and its task."""

    @property
    def reason(self) -> str:
        """The conflict in one line."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"conflict with {self.into} in {self.files[0]}{more}"

    @property
    def description(self) -> str:
        """What an agent has to know to resolve it."""
        return (
            f"{self.branch} and {self.into} both changed:\n\n{_list(self.files)}\n\n"
            f"{self.branch} has:\n\n{_list(self.branch_commits)}\n\n"
            f"{self.into} has meanwhile, in these files:\n\n{_list(self.into_commits)}\n\n"
            f"The merge of {self.into} is begun in the tree of worker {self.worker}. Where both changed the same "
            "lines they are marked with <<<<<<< and >>>>>>>; a file that one side deleted or that is not text has no "
            "marks. Keep what both sides were made for and run the tests; then git add every file above, or git rm it."
        )


MergeResult = MergeDone | MergeConflict | NothingToMerge | MergeHeld | MergeRefused


class PreparedTree(Struct, frozen=True, kw_only=True):
    """A folder in which a worker can begin its task."""

    branch: str
    """The branch that is checked out; empty outside of git."""

    base: str
    """The commit of the branch of the run from which the task starts."""

    conflict: MergeConflict | None = None
    """The conflict that has to be resolved in the folder first."""

    was_parked: tuple[str, ...] = ()
    """Refs and branches with work of others that was in the folder and is nowhere else."""


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- nothing that is committed"
