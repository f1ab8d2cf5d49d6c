"""What one run of a check is about: the check, the commit and its base, and what differs between them."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from binnacle.checks.baselines import BaselineKey
from binnacle.checks.change_files import CommitChange, list_changes
from binnacle.checks.check_environment import CheckEnvironment, describe_environment
from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.work.check import Check


class CheckSubject(Struct, frozen=True, kw_only=True):
    """A check, the commit that it is run on, and the base that it is compared with."""

    check: Check
    commit: str
    tree: str
    base: str
    """Empty if there is none."""

    base_tree: str
    changes: Sequence[CommitChange]
    environment: CheckEnvironment
    setup_environment: str
    """The hash of what its setup runs in, which is the same for other checks with this setup."""

    @property
    def has_base(self) -> bool:
        """Whether there is a base that differs."""
        return bool(self.base_tree) and self.base_tree != self.tree

    @property
    def baseline_key(self) -> BaselineKey:
        return BaselineKey(self.base_tree, self.check.definition_hash, self.environment.hash)

    @property
    def own_key(self) -> BaselineKey:
        """The key under which the change itself is the base of later ones."""
        return BaselineKey(self.tree, self.check.definition_hash, self.environment.hash)


async def find_subject(git: Git, check: Check, commit: str, base: str, *, environ: Mapping[str, str]) -> CheckSubject:
    """Looks up the commits in the repository of `git`.

    Raises:
        GitError: there is no such commit.
    """
    commit_id, tree = await _resolve(git, commit)
    base_id, base_tree = await _resolve(git, base) if base else ("", "")
    programs = [*check.needs, *check.setup[:1]]
    ran = await asyncio.to_thread(describe_environment, environ, [*programs, check.words[0]])
    return CheckSubject(
        check=check,
        commit=commit_id,
        tree=tree,
        base=base_id,
        base_tree=base_tree,
        changes=await list_changes(git, base_id, commit_id) if base_id and base_tree != tree else (),
        environment=ran,
        setup_environment=(await asyncio.to_thread(describe_environment, environ, programs)).hash,
    )


async def _resolve(git: Git, revision: str) -> tuple[str, str]:
    found = await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.code or not found.line:
        raise GitError(f"no such commit: {revision}", hint="name a commit or a branch of this repository")
    commit = found.line.splitlines()[-1]
    return commit, (await git.ask("rev-parse", f"{commit}^{{tree}}")).line
