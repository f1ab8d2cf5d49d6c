"""The person's own programs in the foreground of their terminal: a pager, an editor, and their tool for differences.

Which program that is, the person says by the environment and by their own configuration of git. That of the repository
does not count: an agent can write it, and would have a program run as the person.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import IO

from binnacle.config.child_environment import for_person
from binnacle.config.directories import cache_dir
from binnacle.config.private_files import make_private_folder
from binnacle.errors import GitError, InvalidInput
from binnacle.lifecycle.foreground import ForegroundProgram

GIT_TIMEOUT_SECONDS = 30.0
NOT_FOUND = 127
"""How a shell ends that does not find a program."""

MAX_WRITTEN_BYTES = 1 << 20
_LEADING_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def show_in_pager(text: str) -> bool:
    """Shows text in the person's pager. Returns whether there is one; `cat` and an empty name stand for none."""
    pager = _find_pager()
    if pager in ("", "cat"):
        return False
    env = {"LESS": "FRX", "LV": "-c", **for_person(os.environ)}
    with tempfile.TemporaryFile() as file:
        file.write(text.encode(errors="replace"))
        file.seek(0)
        sys.stdout.flush()
        with ForegroundProgram() as program:
            return program.run(["sh", "-c", pager], env=env, stdin=file) != NOT_FOUND


def _find_pager() -> str:
    for name in ("BN_PAGER", "GIT_PAGER"):
        if name in os.environ:
            return os.environ[name].strip()
    if own := _ask_own_git("core.pager"):
        return own
    return os.environ.get("PAGER", "less").strip()


def _find_editor() -> str:
    is_dumb = os.environ.get("TERM", "dumb") == "dumb"
    names = ("VISUAL", "EDITOR") if not is_dumb else ("EDITOR",)
    found = next((os.environ[name] for name in names if os.environ.get(name, "").strip()), "")
    return found or _ask_own_git("core.editor") or "vi"


def _ask_own_git(key: str) -> str:
    """A setting of the person's own configuration of git; empty if there is none."""
    try:
        asked = ["git", "config", "--global", "--get", key]
        ran = subprocess.run(asked, capture_output=True, timeout=GIT_TIMEOUT_SECONDS, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode(errors="replace").strip()


@contextmanager
def edited_text(text: str) -> Generator[str]:
    """What a person makes of a text in their editor. If the block fails, what they wrote is kept in a file.

    Raises:
        InvalidInput: the editor failed.
    """
    folder = os.path.join(cache_dir(), "comments", secrets.token_hex(4))
    make_private_folder(folder)
    file = os.path.join(folder, "COMMENT.md")
    is_kept = False
    try:
        with open(file, "w", encoding="utf-8") as made:
            made.write(text)
        editor = _find_editor()
        with ForegroundProgram() as program:
            # As git does it: the shell takes the words of the editor apart.
            command = ["sh", "-c", f'{editor} "$@"', editor, file]
            code = program.run(command, env=for_person(os.environ))
        if code:
            hint = "set VISUAL or EDITOR, or give the text with -m"
            raise InvalidInput(f"the editor {editor[:200]!r} ended with {code}, so nothing was kept", hint=hint)
        with open(file, "rb") as read:
            written = read.read(MAX_WRITTEN_BYTES).decode(errors="replace")
        is_kept = True
        yield written
        is_kept = False
    finally:
        if is_kept:
            sys.stderr.write(f"what you wrote is kept in {file}\n")
        else:
            _remove(folder)


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def run_difftool(repo: str, before: str, commit: str, paths: Sequence[str]) -> int:
    """Runs `git difftool` on two commits in the foreground; returns its exit code.

    It runs in a repository of its own with the objects of the real one, so that only the person's own configuration
    names programs. `before` may be empty: then all is new.

    Raises:
        GitError: git is not installed, or refuses.
    """
    env = {name: value for name, value in for_person(os.environ).items() if name not in _LEADING_ELSEWHERE}
    common = _ask(repo, env, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    form = _ask(repo, env, "rev-parse", "--show-object-format")
    with tempfile.TemporaryDirectory(prefix="bn-review-") as folder:
        _ask(folder, env, "init", "--quiet", f"--object-format={form}", "--template=", ".")
        _write_line(os.path.join(folder, ".git", "objects", "info", "alternates"), common)
        first = before or _ask(folder, env, "hash-object", "-t", "tree", "-w", "--stdin")
        words = ["git", "difftool", "--no-prompt", first, commit, "--", *paths]
        with ForegroundProgram() as program:
            return program.run(words, env={**env, "GIT_LITERAL_PATHSPECS": "1"}, cwd=folder)


def _write_line(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{text}\n")


def _ask(folder: str, env: dict[str, str], *words: str) -> str:
    try:
        ran = subprocess.run(
            ["git", *words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise GitError("git is not installed", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        hint = "try again, and look at what else uses the repository"
        raise GitError(f"git {words[0]} took longer than {GIT_TIMEOUT_SECONDS:g} s", hint=hint) from error
    if ran.returncode:
        raise GitError(f"git {words[0]}: {ran.stderr.decode(errors='replace').strip()[-500:]}", hint="fix what it says")
    return os.fsdecode(ran.stdout).strip()


def is_at_person(stream: IO[str]) -> bool:
    """Whether a person reads a stream: it is a terminal, and no agent is behind it."""
    from binnacle.lifecycle.agent_detection import find_agent_above

    return stream.isatty() and find_agent_above() is None
