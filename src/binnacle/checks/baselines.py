"""The reports of bases, so that a check runs once on a base and not once for each change."""

import os
from contextlib import suppress
from typing import Protocol

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder
from binnacle.work.verdict import TestReport

MAX_KEPT = 500


class BaselineKey(Struct, frozen=True):
    """What a baseline belongs to. Another tree, definition or environment needs its own."""

    tree: str
    definition: str
    environment: str


class BaseReport(Struct, frozen=True, kw_only=True):
    """What a check said about a base."""

    exit: int
    report: TestReport | None = None


class BaselineCache(Protocol):
    """Where the reports of bases are kept."""

    def get(self, key: BaselineKey) -> BaseReport | None:
        """The report of a base, if it is known."""

    def put(self, key: BaselineKey, baseline: BaseReport) -> None:
        """Keeps the report of a base."""


class BaselineFiles:
    """Baselines as files in a folder. The oldest go first."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def get(self, key: BaselineKey) -> BaseReport | None:
        """The report of a base; None if there is none, or it cannot be read."""
        with suppress(OSError, msgspec.DecodeError), open(self._path(key), "rb") as file:
            return msgspec.json.decode(file.read(), type=BaseReport)
        return None

    def put(self, key: BaselineKey, baseline: BaseReport) -> None:
        """Keeps the report of a base. That it cannot be kept costs a run, and nothing else."""
        with suppress(OSError):
            make_private_folder(self._folder)
            write_atomically(self._path(key), msgspec.json.encode(baseline))
            remove_oldest(self._folder, keep=MAX_KEPT)

    def _path(self, key: BaselineKey) -> str:
        from hashlib import sha256

        return os.path.join(self._folder, sha256(msgspec.json.encode(key)).hexdigest() + ".json")


def remove_oldest(folder: str, *, keep: int) -> None:
    """Removes the oldest files of a folder, so that `keep` are left."""
    names = os.listdir(folder)
    if len(names) > keep:
        paths = sorted((os.path.join(folder, name) for name in names), key=lambda path: os.lstat(path).st_mtime)
        for path in paths[: len(names) - keep]:
            with suppress(OSError):
                os.unlink(path)
