"""The possible results of a merge, as values. A conflict has the title and description of its task."""

from typing import NamedTuple

from msgspec import Struct


class WorkerTree(NamedTuple):
    """A working tree and the branch that is checked out in it."""

    number: int
    """The number of the worker; 0 for the tree of the run itself."""

    path: str
    branch: str


class MergeDone(Struct, frozen=True, kw_only=True):
    """The work of a branch is in the branch of the run."""

    branch: str
    into: str
    commit: str
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


class MergeConflict(Struct, frozen=True, kw_only=True):
    """Both branches changed the same place. The conflict is in the worker's tree, to be resolved there."""

    worker: int
    branch: str
    into: str
    files: tuple[str, ...]

    @property
    def title(self) -> str:
        """The title of its task."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"Merge {self.branch}: conflict in {self.files[0]}{more}"

    @property
    def description(self) -> str:
        files = "\n".join(f"- {name}" for name in self.files)
        return (
            f"{self.branch} and {self.into} both changed:\n\n{files}\n\n"
            f"The merge of {self.into} is begun in the tree of worker {self.worker}. Where both changed the same "
            "lines they are marked with <<<<<<< and >>>>>>>; a file that one side deleted or that is not text has no "
            "marks. Keep what both sides were made for and run the tests; then git add every file above, or git rm it, "
            "and commit."
        )


MergeResult = MergeDone | MergeConflict | NothingToMerge | MergeHeld
