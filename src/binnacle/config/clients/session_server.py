"""The name of a session's server in a client, which no server in the client's own files has.

Copilot and codex-acp prefer a server from their files to one with the same name from a run, and `bn system init` writes
one there. An agent would then have the tools of the project instead of those of its session. The name is the same in
all sessions, so that the list of tools is the same and the model's provider can cache it.
"""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain, count

from binnacle.config.clients.client_files import locate
from binnacle.config.clients.foreign_files import read
from binnacle.config.clients.known_clients import CLIENTS
from binnacle.errors import ConfigError

SESSION_SERVER = "bns"
"""Short, because clients put it before the name of every tool. Session ids begin with it too."""


def free_server_name(folder: str, *, taken: Collection[str] = ()) -> str:
    """The name, or the first of `bns2`, `bns3` … that is neither `taken` nor a word in a file that a client reads.

    Any word counts, not only names of servers: an unnecessary number does no harm, but a duplicate name does.
    """
    texts = list(_texts(folder))
    for name in chain([SESSION_SERVER], (f"{SESSION_SERVER}{number}" for number in count(2))):
        word = re.compile(rf"(?<![\w-]){name}(?![\w-])", re.IGNORECASE)
        if name not in taken and not any(map(word.search, texts)):
            return name
    raise AssertionError("numbers never end")


def _texts(folder: str) -> Iterator[str]:
    """The texts of all files in which a client looks for servers, in the home folder and in this checkout."""
    for client in CLIENTS.values():
        for file in client.user:
            with suppress(ConfigError):  # the client cannot read it either
                yield read(os.path.join(locate(client.folder), file)) or ""
        for file in (*client.project, *client.also):
            with suppress(ConfigError):
                yield read(os.path.join(folder, file), root=folder) or ""
