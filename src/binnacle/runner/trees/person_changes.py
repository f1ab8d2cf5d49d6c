"""What a person had changed in their folder before a run began to work there. The run does not commit it.

The list is in a file, because a run that was killed is resumed later, and what its agent left then is not the person's.
A file that the person had changed and an agent changes too is committed with both changes: they cannot be told apart.
"""

import asyncio
import os

import msgspec

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_folder
from binnacle.git.command import Git, digest_files


class PersonChanges:
    """The changes of a person in one folder."""

    def __init__(self, git: Git, path: str) -> None:
        """`path` is the file with the list."""
        self._git = git
        self._path = path

    async def note(self, *, again: bool) -> None:
        """Notes what is changed now; `again` replaces an earlier list."""
        if again or not os.path.exists(self._path):
            found = await self._digest(await self._git.list_changed())
            make_folder(os.path.dirname(self._path))
            write_atomically(self._path, msgspec.json.encode(found))

    async def list_untouched(self) -> frozenset[str]:
        """The files that are still as the person left them."""
        try:
            with open(self._path, "rb") as file:
                noted = msgspec.json.decode(file.read(), type=dict[str, str])
        except (FileNotFoundError, msgspec.DecodeError):
            return frozenset()
        now = await self._digest(list(noted))
        return frozenset(name for name, digest in noted.items() if now[name] == digest)

    async def _digest(self, names: list[str]) -> dict[str, str]:
        return await asyncio.to_thread(lambda: {name: digest_files(self._git.folder, "", [name]) for name in names})
