"""Puts a run of checks together for a caller: which commit and base, which definitions, and where the results go.

Definitions come from the base. A base that has no file of checks, as before the first one is merged, has none to
weaken; then those of the person's folder count. Either way a person must have trusted each exactly as it is.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from binnacle.checks.baselines import BaselineCache, BaselineFiles
from binnacle.checks.change_files import read_changes
from binnacle.checks.check_runner import CheckRunner, Tell
from binnacle.config.trust import find_trusted, state_of
from binnacle.errors import GitError, NotFound, Refused, did_you_mean
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.project.check_file import (
    CHECK_FILE,
    CheckFile,
    find_protection,
    parse_check_file,
    read_check_file,
    trust_item_of,
)
from binnacle.project.project import Project
from binnacle.work.check import Check
from binnacle.work.check_result import CheckResult
from binnacle.work.gaming import (
    DEFAULT_PROTECTION,
    ChangeFinding,
    PolicyDecision,
    Protection,
    decide_policy,
    measure_change,
)

CHECKS_FOLDER = "checks"
"""Folder in the data directory of a project, for checkouts, logs and baselines."""

_MAIN_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")

Keep = Callable[[CheckResult], None]
"""Called with each result, so that it can be stored."""


class CheckedChange(Struct, frozen=True, kw_only=True):
    """What checks said about a commit, and what the commit does to what judges it."""

    commit: str
    base: str = ""
    definitions: str
    """Where the definitions of the checks come from: `base`, or `folder`."""

    uncommitted: tuple[str, ...] = ()
    """Files with changes that are not in the commit, and so were not checked."""

    findings: tuple[ChangeFinding, ...] = ()
    decision: PolicyDecision = "allow"
    results: tuple[CheckResult, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether every check passed and no person has to decide anything."""
        return self.decision == "allow" and bool(self.results) and all(one.opens_gate for one in self.results)


async def run_checks(
    project: Project,
    *,
    folder: str,
    names: Sequence[str] = (),
    commit: str = "HEAD",
    base: str | None = None,
    is_bug: bool = False,
    tell: Tell | None = None,
    keep: Keep | None = None,
    baselines: BaselineCache | None = None,
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
    commit_id = await _resolve(git, commit)
    base_id = await find_base(git, commit_id) if base is None else await _resolve(git, base)
    file, source = await _find_definitions(git, project.repo, base_id)
    chosen = choose_checks(project.repo, file, names)
    protection: Protection = {**DEFAULT_PROTECTION, **find_protection(project.repo, file)}
    changed = await read_changes(git, base_id, commit_id) if base_id else []
    findings = tuple(measure_change(changed))
    place = os.path.join(project.data_dir, CHECKS_FOLDER)
    results = []
    async with Keeper() as keeper:
        runner = CheckRunner(
            repo=folder,
            folder=place,
            keeper=keeper,
            environ=os.environ,
            baselines=baselines or BaselineFiles(os.path.join(place, "baselines")),
            protection=protection,
            tell=tell,
        )
        for check in chosen:
            result = await runner.run(check, commit_id, base_id, is_bug=is_bug)
            results.append(result)
            if keep is not None:
                keep(result)
    return CheckedChange(
        commit=commit_id,
        base=base_id,
        definitions=source,
        uncommitted=tuple(await git.list_changed()) if commit_id == await git.head() else (),
        findings=findings,
        decision=decide_policy(findings, protection),
        results=tuple(results),
    )


async def find_base(git: Git, commit: str) -> str:
    """Where a commit left the main branch; empty if it is on it, or there is no such branch."""
    for branch in _MAIN_BRANCHES:
        found = await git.run("merge-base", branch, commit)
        if found.code == 0 and found.line:
            return found.line if found.line != commit else ""
    return ""


def choose_checks(repo: str, file: CheckFile, names: Sequence[str]) -> list[Check]:
    """The checks of these names, or all that are trusted.

    Raises:
        NotFound: there is no check of that name, or none at all.
        Refused: nobody has trusted it.
    """
    known = {one.name: one for one in file.checks}
    if not known:
        raise NotFound("the project has no checks", hint="propose some: bn check suggest")
    trusted = find_trusted(repo)
    for name in names:
        if name not in known:
            raise NotFound(f"no check {name!r}", hint=did_you_mean(name, list(known)) or "bn check list names them")
    wanted = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    chosen = [one for one in wanted if state_of(trust_item_of(one), trusted) == "trusted"]
    if missing := [one.name for one in wanted if one not in chosen and (names or not chosen)]:
        hint = f"a person reviews it: bn check approve {missing[0]}"
        raise Refused(f"nobody has trusted the check {missing[0]!r} as it is now", hint=hint)
    return chosen


async def _find_definitions(git: Git, repo: str, base: str) -> tuple[CheckFile, str]:
    if base:
        found = await git.run("cat-file", "blob", f"{base}:{CHECK_FILE}")
        if found.code == 0:
            with suppress(UnicodeDecodeError):
                return parse_check_file(found.out.decode(), file=f"{base[:8]}:{CHECK_FILE}"), "base"
    return read_check_file(repo), "folder"


async def _resolve(git: Git, revision: str) -> str:
    found = await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.code or not found.line:
        raise GitError(f"no such commit: {revision}", hint="name a commit or a branch of this repository")
    return found.line.splitlines()[-1]
