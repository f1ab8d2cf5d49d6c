"""Runs `git` in a working tree, and commits its changes.

Every run has a timeout, no terminal, no editor and no pager, and never asks for anything. The hooks and the
configuration of the person apply; variables that would select another repository do not.
"""

import asyncio
import os
import signal
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from binnacle.config.child_environment import for_development
from binnacle.errors import GitError, Refused
from binnacle.processes.facts import folder_of, read_table

GIT_TIMEOUT_SECONDS = 120.0
"""Seconds for one run of git."""

LONG_GIT_TIMEOUT_SECONDS = 600.0
"""Seconds if hooks of the repository run (often formatters and tests), or a complete tree is written."""

NEVER_COMMITTED = (".vsc-bridge",)
"""Our own files in the tree, which are never committed."""

NAME, EMAIL = "Binnacle", "binnacle@localhost"
"""The author if git has no name for the person."""

DEAD_LOCK_SECONDS = 60.0
"""Seconds after which a lock in a person's tree, with no git running, counts as left by a killed git."""

MAX_CONTENT_BYTES = 1 << 20
"""Bytes of a changed file that are read to see whether it changed again; for larger files, size and time count."""

MAX_TITLE_CHARACTERS = 72

_LEADING_ELSEWHERE = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
)
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}
"""Also: history as it is, whatever an agent has git show in place of it (`git replace`, grafts)."""

_SETTINGS = (
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false",
    "-c", "advice.graftFileDeprecated=false",
)  # fmt: skip
"""Options without which git leaves background processes, and talks in its errors about our empty file of grafts."""

_NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
_AS_COMMITTED = (
    "-c", f"core.attributesFile={os.devnull}", "-c", f"core.hooksPath={os.devnull}",
    "-c", "filter.lfs.smudge=git-lfs smudge -- %f", "-c", "filter.lfs.process=git-lfs filter-process",
)  # fmt: skip
"""The one filter that is left brings large files, by the digests that are in the commit."""

_OUTSIDE = ("not a git repository", "must be run in a work tree")
"""What git says outside of a working tree."""

MERGE = "a merge"
_UNFINISHED = {
    "MERGE_HEAD": MERGE,
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


class GitResult(NamedTuple):
    """The result of one run of git."""

    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        return os.fsdecode(self.out).strip()

    @property
    def names(self) -> list[str]:
        """The entries of output written with `-z`."""
        return [name for name in os.fsdecode(self.out).split("\0") if name]


class Commit(NamedTuple):
    """A commit that was made."""

    id: str
    title: str
    files: int


class Git:
    """The working tree at `folder`. Nothing is cached: every question runs git."""

    def __init__(self, folder: str, *, held: Sequence[int] = (), has_settings: bool = True) -> None:
        """`held` are descriptors of locks that our gits inherit, so that they last until the last one has ended.

        Without `has_settings`, what the person and the machine have configured does not count: no filter, no attribute
        and no hook of theirs changes what is in a commit.
        """
        self.folder = folder
        self._held = tuple(held)
        self._options = _SETTINGS if has_settings else (*_SETTINGS, *_AS_COMMITTED)
        self._variables = {} if has_settings else _NO_SETTINGS

    def at(self, folder: str) -> "Git":
        """`Git` for another tree."""
        return Git(folder, held=self._held)

    def holding(self, lock: int) -> "Git":
        """`Git` with one more lock."""
        return Git(self.folder, held=(*self._held, lock))

    async def run(
        self,
        *words: str,
        given: bytes | None = None,
        within: float = GIT_TIMEOUT_SECONDS,
        variables: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Runs git, which may fail, with more `variables`. Cancelling ends git with everything it started.

        Raises:
            GitError: git is not installed, or took too long.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                "git", *self._options, *words,
                stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                cwd=self.folder, env={**_environment(), **self._variables, **(variables or {})}, pass_fds=self._held,
                start_new_session=True,
            )  # fmt: skip
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            is_there = os.path.isdir(self.folder)
            said = "git is not installed" if is_there else f"no such directory: {self.folder}"
            raise GitError(said, hint="install git" if is_there else "give another directory") from error
        try:
            async with asyncio.timeout(within):
                out, err = await process.communicate(given)
        except TimeoutError as error:
            hint = "a hook of the repository may be waiting for something; run it by hand"
            raise GitError(f"git {words[0]} took longer than {within:g} s and was ended", hint=hint) from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return GitResult(process.returncode or 0, out, err.decode(errors="replace").strip())

    async def ask(
        self,
        *words: str,
        given: bytes | None = None,
        within: float = GIT_TIMEOUT_SECONDS,
        variables: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Runs git, which must succeed.

        Raises:
            GitError: with what it said.
        """
        ran = await self.run(*words, given=given, within=within, variables=variables)
        if ran.code:
            raise git_failure(words[0], ran)
        return ran

    async def root(self) -> str | None:
        """The top of the working tree; None outside of one.

        Raises:
            GitError: there is one, and git does not use it, such as that of another user.
        """
        ran = await self.run("rev-parse", "--show-toplevel")
        if ran.code and not any(said in ran.err for said in _OUTSIDE):
            raise git_failure("rev-parse", ran)
        return ran.line or None if ran.code == 0 else None

    async def head(self) -> str | None:
        """The commit that is checked out; None before the first one."""
        ran = await self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return ran.line if ran.code == 0 else None

    async def branch(self) -> str | None:
        """The branch that is checked out, even without a commit; None if a commit is checked out."""
        ran = await self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        return ran.line if ran.code == 0 else None

    async def list_changed(self, *, untracked: bool = True) -> list[str]:
        """Every file that differs from the last commit or is not in it, except ignored files and ours."""
        shown = f"--untracked-files={'all' if untracked else 'no'}"
        ran = await self.ask("status", "--porcelain=v1", "-z", shown, "--no-renames", "--ignore-submodules=none")
        return [entry[3:] for entry in ran.names if not _is_ours(entry[3:])]

    async def find_unfinished(self) -> str:
        """The unfinished operation of the tree, such as "a merge"; empty if there is none."""
        folder = (await self.ask("rev-parse", "--absolute-git-dir")).line
        return next((what for name, what in _UNFINISHED.items() if os.path.exists(os.path.join(folder, name))), "")

    async def fingerprint(self) -> str:
        """A digest of the tree: what is committed, and every change on top of it."""
        tree = await self.run("rev-parse", "--verify", "--quiet", "HEAD^{tree}")
        return await asyncio.to_thread(digest_files, self.folder, tree.line, await self.list_changed())

    async def commit_except(self, message: str, left_out: Collection[str]) -> Commit | None:
        """Commits all changes but those of some files, which stay as they are, staged or not; None if none are left.

        Raises:
            Refused, GitError: as `commit_all`.
        """
        await self.remove_dead_locks(older_than=DEAD_LOCK_SECONDS)
        if what := await self.find_unfinished():
            raise self._refuse_during(what)
        changed = [one for one in await self.list_changed() if one not in left_out and not is_nested_repository(one)]
        if not changed:
            return None
        named = ("--pathspec-from-file=-", "--pathspec-file-nul")
        given = os.fsencode("\0".join(changed))
        await self.ask("--literal-pathspecs", "add", "--all", *named, given=given, within=LONG_GIT_TIMEOUT_SECONDS)
        words = (*await self.identity(), "--literal-pathspecs", "commit", "--only", "--quiet", "--cleanup=whitespace")
        ran = await self.run(*words, f"--message={message}", *named, given=given, within=LONG_GIT_TIMEOUT_SECONDS)
        if ran.code:
            raise git_failure("commit", ran)
        return Commit(await self.head() or "", message.partition("\n")[0], len(changed))

    def _refuse_during(self, what: str) -> Refused:
        hint = f"finish or abort it in {self.folder}; what changed is still there, uncommitted"
        return Refused(f"nothing was committed: the repository is in the middle of {what}", hint=hint)

    async def commit_all(self, message: str, *, ends_merge: bool = False, trailer: str = "") -> Commit | None:
        """Commits all changes; None if there are none. Ignored files and ours are left out.

        `trailer` is a line for the end of the message, such as "Task: bn-1f3a".

        Raises:
            Refused: the tree is in the middle of something other than a merge that this `ends_merge`.
            GitError: git failed, or a hook of the repository refused.
        """
        await self.remove_dead_locks(older_than=DEAD_LOCK_SECONDS)
        what = await self.find_unfinished()
        if what and not (ends_merge and what == MERGE):
            raise self._refuse_during(what)
        changed = await self.list_changed()
        if not changed and not what:
            return None
        await self.stage(changed)
        staged = (await self.ask("diff", "--cached", "--name-only", "-z", "--no-renames")).names
        if not staged and not what:
            return None
        words = (*await self.identity(), "commit", "--quiet", "--cleanup=whitespace", "--file=-")
        words += ("--trailer", trailer) if trailer else ()
        ran = await self.run(*words, given=message.encode(errors="replace"), within=LONG_GIT_TIMEOUT_SECONDS)
        if ran.code:
            raise git_failure("commit", ran)
        return Commit(await self.head() or "", message.partition("\n")[0], len(staged))

    async def stage(self, changed: Sequence[str], *, index: str = "") -> None:
        """Stages all changes, in the file `index` if it is given. Ours and nested repositories are left out."""
        foreign = [name for name in changed if is_nested_repository(name)]
        left_out = (f":(exclude,top,literal){name}" for name in (*NEVER_COMMITTED, *foreign))
        variables = {"GIT_INDEX_FILE": index} if index else None
        await self.ask("add", "--all", "--", ":/", *left_out, within=LONG_GIT_TIMEOUT_SECONDS, variables=variables)
        ours = (f":(top,literal){name}" for name in NEVER_COMMITTED)
        await self.ask("reset", "--quiet", "--", *ours, variables=variables)

    async def remove_dead_locks(self, *, older_than: float = 0) -> None:
        """Removes the locks that a killed git left in this tree, if no git runs here.

        In a person's tree, other programs may lock it too, so a lock must be older than `older_than` seconds.
        """
        folder = (await self.ask("rev-parse", "--absolute-git-dir")).line
        names = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock")
        left = [path for name in names if _age(path := os.path.join(folder, name)) >= older_than]
        if left and not _is_git_at_work(self.folder, folder):
            for path in left:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    async def identity(self) -> tuple[str, ...]:
        """Options that name the author, if git has no name for the person."""
        if (await self.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")).code == 0:
            return ()
        options: list[str] = []
        for key, value in (("user.name", NAME), ("user.email", EMAIL)):
            if not (await self.run("config", key)).line:
                options += ["-c", f"{key}={value}"]
        return tuple(options)


def is_nested_repository(name: str) -> bool:
    """Whether an entry of the list of changes is a repository in the tree, which git does not look into."""
    return name.endswith("/")


def commit_message(title: str, summary: str = "") -> str:
    """A message from a task's title and the agent's summary."""
    words = " ".join(title.split()) or "Work of an iteration"
    first = words if len(words) <= MAX_TITLE_CHARACTERS else words[: MAX_TITLE_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"
    rest = words if first != words else ""
    body = "\n\n".join(part for part in (rest, summary.strip()) if part)
    return f"{first}\n\n{body}\n" if body else f"{first}\n"


def git_failure(word: str, ran: GitResult) -> GitError:
    """The error for a git that failed."""
    said = ran.err or ran.out.decode(errors="replace").strip() or f"exit code {ran.code}"
    lines = said.splitlines()
    shown = "\n".join(lines[-20:])
    return GitError(f"git {word}: {shown}", hint="fix what it says, then try again", details={"code": ran.code})


def _environment() -> dict[str, str]:
    return {
        name: value for name, value in for_development(os.environ).items() if name not in _LEADING_ELSEWHERE
    } | _QUIET


def _is_ours(name: str) -> bool:
    return name.partition("/")[0] in NEVER_COMMITTED


def _age(path: str) -> float:
    """Seconds since a file was written; negative if it does not exist."""
    try:
        return max(0.0, time.time() - os.stat(path).st_mtime)
    except OSError:
        return -1.0


def _is_git_at_work(*folders: str) -> bool:
    """Whether a git may be running in one of these folders; processes of other users are not visible."""
    gits = [entry.pid for entry in read_table().values() if entry.name.startswith("git")]
    places = [place for place in map(folder_of, gits) if place]
    return any(place == folder or place.startswith(f"{folder}/") for place in places for folder in folders)


def digest_files(folder: str, tree: str, changed: Collection[str]) -> str:
    """A digest of a tree of git and of files in a folder, which may be missing."""
    from hashlib import sha256

    found = sha256(tree.encode())
    for name in sorted(changed):
        path = os.path.join(folder, name)
        found.update(b"\0" + os.fsencode(name) + b"\0")
        with suppress(OSError):
            about = os.lstat(path)
            found.update(f"{about.st_mode:o} {about.st_size} ".encode())
            if os.path.islink(path):
                found.update(os.fsencode(os.readlink(path)))
            elif about.st_size <= MAX_CONTENT_BYTES and os.path.isfile(path):
                with open(path, "rb") as file:
                    found.update(file.read(MAX_CONTENT_BYTES))
            else:
                found.update(str(about.st_mtime_ns).encode())
    return found.hexdigest()
