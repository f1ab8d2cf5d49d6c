"""Exports as files: written so that a file is whole or not there, also as the backup before something is removed."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import IO

from binnacle.config.private_files import make_private_folder, private_opener
from binnacle.errors import InvalidInput, StoreError
from binnacle.store.maintenance.export_format import TABLES, Advance, export_lines
from binnacle.store.store import Store
from binnacle.store.transaction import Reader

Progress = Callable[[int], AbstractContextManager[Advance]]
"""Shows how far something is, given how many rows there are."""


def count_rows(tx: Reader) -> dict[str, int]:
    """How many rows each table of an export has."""
    return {name: tx.count(f"select count(*) from {name}") for name in TABLES}


def write_export(store: Store, file: IO[bytes], *, progress: Progress) -> int:
    """Writes everything to an open file, as one moment has it. Returns the number of lines."""
    written = 0
    with store.read() as tx, progress(sum(count_rows(tx).values())) as advance:
        for line in export_lines(tx, advance=advance):
            file.write(line)
            written += 1
    return written


def export_file(store: Store, name: str, *, progress: Progress) -> int:
    """Writes an export so that the file is whole or not there. Returns the number of lines.

    Raises:
        InvalidInput: it cannot be written.
    """
    temporary = f"{name}.{os.getpid()}.part"
    try:
        with open(temporary, "wb", opener=private_opener) as file:
            written = write_export(store, file, progress=progress)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name)
    except OSError as error:
        raise InvalidInput(f"cannot write {name!r}: {error.strerror}", hint="choose another place") from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return written


def back_up(store: Store, data_dir: str, *, progress: Progress) -> str:
    """Exports the store to a new file among the project's data, and returns its name.

    Raises:
        StoreError: there is no room for it; nothing was changed.
    """
    folder = os.path.join(data_dir, "backups")
    try:
        make_private_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot create {folder}: {error.strerror}", hint="nothing was changed") from error
    name = os.path.join(folder, f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}.jsonl")
    export_file(store, name, progress=progress)
    return name
