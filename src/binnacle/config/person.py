"""Who a person is.

In this order: `BN_USER`; `user.email` of git, then `user.name`; the user of the
system. Two people who share a store are told apart by it, so it is a name that differs
between them and is the same for one of them everywhere: an address is both.
"""

import os

from binnacle.config.git_config import read_user

NOBODY = "human"
"""The name of a person of whom nothing is known at all."""

MAX_NAME_CHARACTERS = 100


def find_person(git_dir: str | None = None) -> str:
    """The name of the person at the keyboard; `git_dir` is that of the repository, which may have one of its own."""
    given = _clean(os.environ.get("BN_USER", ""))
    return given or next(filter(None, map(_clean, read_user(git_dir))), "") or _clean(_system_user()) or NOBODY


def _system_user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may run as a user that it does not know
        return os.environ.get("USER") or os.environ.get("LOGNAME") or ""


def _clean(name: str) -> str:
    """The name as one line of text that can be kept."""
    text = name.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_NAME_CHARACTERS]
