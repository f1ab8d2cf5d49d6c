"""The name of the person at the keyboard.

In this order: `BN_USER`; `user.email` of git, then `user.name`; the user of the
system. It distinguishes people who share a store, so it must differ between people
and be the same for one person everywhere, like an address.
"""

import os

from binnacle.config.git_config import read_user

NOBODY = "human"
"""The name of an unknown person."""

MAX_NAME_CHARACTERS = 100


def find_person(git_dir: str | None = None) -> str:
    """The name of the person at the keyboard; the repository of `git_dir` may set its own."""
    given = _clean(os.environ.get("BN_USER", ""))
    return given or next(filter(None, map(_clean, read_user(git_dir))), "") or _clean(_system_user()) or NOBODY


def _system_user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may run as a user that it does not know
        return os.environ.get("USER") or os.environ.get("LOGNAME") or ""


def _clean(name: str) -> str:
    """The name as one line of printable text."""
    text = name.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_NAME_CHARACTERS]
