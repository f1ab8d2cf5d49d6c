"""For which commits the result of a setup is right: those with the same lock files, words and environment."""

import msgspec

from binnacle.git.command import Git
from binnacle.work.check import Check

_VERSION = 1
"""Part of each key. A release that keeps setups in another way has another."""

_KEY_CHARACTERS = 20
_FILE = "100"
"""How git's mode of a file begins. A link or a folder does not say all that it stands for."""


async def find_setup_key(git: Git, check: Check, commit: str, environment: str) -> str:
    """Names what the setup of a check makes for a commit; empty if it cannot be kept.

    `environment` is the hash of what the setup runs in. Two commits with the same key have the same bytes in every
    lock file that the check names.
    """
    if not (check.setup and check.cache):
        return ""
    listed = await git.run(
        "ls-tree", "-z", "--full-tree", commit, "--", *check.cache, variables={"GIT_LITERAL_PATHSPECS": "1"}
    )
    entries = [entry.partition("\t") for entry in listed.names]
    found = {path: about.split() for about, _, path in entries}
    if listed.code or not found or any(not about[0].startswith(_FILE) for about in found.values()):
        return ""
    locks = [(path, found[path][2] if path in found else "") for path in sorted(check.cache)]
    from hashlib import sha256

    key = sha256(msgspec.json.encode((_VERSION, check.setup, locks, environment)))
    return key.hexdigest()[:_KEY_CHARACTERS]
