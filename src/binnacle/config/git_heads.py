"""Reads where a working tree stands, from git's own files: a claim of a task must not wait for a process."""

import os

MAX_REF_CHARACTERS = 4096
MAX_PACKED_BYTES = 32 << 20
MAX_LINKS = 5
"""How often one ref may name another."""

MAIN_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
"""Where a change usually leaves the others' work."""


def read_heads(folder: str) -> tuple[str, ...]:
    """The commit of the working tree at or above `folder`, and then the tips of the main branches.

    Empty if that is not in git, has no commit, or keeps its refs in another format.
    """
    git_dir = _find_git_dir(os.path.realpath(folder))
    if git_dir is None:
        return ()
    common = _read(os.path.join(git_dir, "commondir"))
    common_dir = os.path.normpath(os.path.join(git_dir, common)) if common else git_dir
    head = _resolve(_read(os.path.join(git_dir, "HEAD")), common_dir)
    if not head:
        return ()
    others = (_resolve(f"ref: {name}", common_dir) for name in MAIN_BRANCHES)
    return tuple(dict.fromkeys((head, *filter(None, others))))


def _find_git_dir(folder: str) -> str | None:
    while True:
        marker = os.path.join(folder, ".git")
        if os.path.isdir(marker):
            return marker
        if os.path.isfile(marker):
            return os.path.normpath(os.path.join(folder, _read(marker).removeprefix("gitdir:").strip()))
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _resolve(value: str, common_dir: str) -> str:
    """The commit that the content of a ref leads to; empty if there is none."""
    for _ in range(MAX_LINKS):
        if not value.startswith("ref:"):
            return value if _is_commit_id(value) else ""
        name = value.removeprefix("ref:").strip()
        if not name.startswith("refs/") or ".." in name:
            return ""
        value = _read(os.path.join(common_dir, name)) or _find_packed(common_dir, name)
    return ""


def _find_packed(common_dir: str, name: str) -> str:
    try:
        with open(os.path.join(common_dir, "packed-refs"), "rb") as file:
            lines = file.read(MAX_PACKED_BYTES)
    except OSError:
        return ""
    end = lines.find(b" " + os.fsencode(name) + b"\n")
    return lines[lines.rfind(b"\n", 0, end) + 1 : end].decode("ascii", "replace") if end >= 0 else ""


def _is_commit_id(text: str) -> bool:
    return len(text) in (40, 64) and all(one in "0123456789abcdef" for one in text)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_REF_CHARACTERS).strip()
    except OSError:
        return ""
