"""The branches of a run in the git remote by which its machines exchange their work.

What was fetched is under `refs/binnacle/fetched/<run>/`, apart from the branches of this clone and from those that the
person fetches. Nothing is ever pushed over the work of others: a push that is no fast-forward is refused by the remote,
and then somebody else was faster.
"""

from binnacle.errors import GitError, RemoteUnreachable
from binnacle.git.command import Git, GitResult, git_failure
from binnacle.runner.trees.commits import resolve

REMOTE_TIMEOUT_SECONDS = 90.0
"""Seconds for one fetch or push."""

FETCHED = "refs/binnacle/fetched"

_TAKEN = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists")
"""What git says when somebody else has changed the branch meanwhile."""


class RemoteBranches:
    """The branches `bn/<run>/…` of a remote."""

    def __init__(self, remote: str, run: str) -> None:
        """`remote` is a name that git knows, or an address."""
        self.remote = remote
        self._run = run

    async def fetch(self, git: Git) -> None:
        """Fetches the branches of the run, and forgets those that are gone.

        Raises:
            RemoteUnreachable: the remote did not answer.
        """
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--prune")
        refs = f"refs/heads/bn/{self._run}/*:{FETCHED}/{self._run}/*"
        ran = await self._exchange(git, "fetch", *options, self.remote, refs)
        if ran.code:
            raise git_failure("fetch", ran)

    async def find(self, git: Git, word: str) -> str:
        """The commit of the branch `bn/<run>/<word>` when it was fetched last; empty if there is none."""
        return await resolve(git, f"{FETCHED}/{self._run}/{word}")

    async def push(self, git: Git, commit: str, word: str) -> bool:
        """Moves the branch `bn/<run>/<word>` of the remote forward to a commit. False if others have moved it.

        Raises:
            RemoteUnreachable: the remote did not answer.
            GitError: the remote, or a hook, does not want it.
        """
        options = ("--quiet", "--porcelain", "--no-follow-tags", "--recurse-submodules=no")
        ran = await self._exchange(git, "push", *options, self.remote, f"{commit}:refs/heads/bn/{self._run}/{word}")
        if ran.code == 0:
            await git.ask("update-ref", f"{FETCHED}/{self._run}/{word}", commit)
            return True
        said = ran.err + ran.out.decode(errors="replace")
        if any(words in said for words in _TAKEN):
            return False
        raise git_failure("push", ran)

    async def delete(self, git: Git, commit: str, word: str) -> None:
        """Deletes the branch `bn/<run>/<word>` of the remote, if it is still at this commit."""
        ref = f"refs/heads/bn/{self._run}/{word}"
        # Despite its name, the option only ever prevents something here: a branch that has moved is not deleted.
        ran = await self._exchange(git, "push", "--quiet", f"--force-with-lease={ref}:{commit}", self.remote, f":{ref}")
        if ran.code == 0:
            await git.run("update-ref", "-d", f"{FETCHED}/{self._run}/{word}", commit)

    async def _exchange(self, git: Git, *words: str) -> GitResult:
        hint = "check the network and the remote; the work is kept here and is pushed later"
        try:
            ran = await git.run(*words, within=REMOTE_TIMEOUT_SECONDS)
        except GitError as error:
            raise RemoteUnreachable(f"{self.remote}: {error.message}", hint=hint) from error
        # Git uses 128 for whatever ends it early; with a remote that means that it could not be spoken to.
        if ran.code == 128:
            said = (ran.err.splitlines() or ["no answer"])[0]
            raise RemoteUnreachable(f"cannot reach the git remote {self.remote!r}: {said}", hint=hint)
        return ran
