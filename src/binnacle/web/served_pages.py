"""The pages that are served on this machine now, as their servers recorded it.

A record names the process of its server. One that was killed leaves its record behind, which then counts for nothing.
"""

import contextlib
import os
from collections.abc import Generator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder
from binnacle.lifecycle.process import is_alive, this_process
from binnacle.web.sign_in import sign_in_folder

SUFFIX = ".served"


class ServedPage(Struct, frozen=True, kw_only=True):
    """A page that a process serves."""

    port: int
    pid: int
    started: str
    is_readonly: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@contextmanager
def recorded_page(port: int, *, is_readonly: bool) -> Generator[ServedPage]:
    """Records that this process serves the page on a port. Leaving the block takes that back."""
    process = this_process()
    page = ServedPage(port=port, pid=process.pid, started=process.started, is_readonly=is_readonly)
    path = os.path.join(sign_in_folder(), f"{port}{SUFFIX}")
    make_private_folder(os.path.dirname(path))
    write_atomically(path, msgspec.json.encode(page))
    try:
        yield page
    finally:
        if _read(path) == page:
            with contextlib.suppress(OSError):
                os.unlink(path)


def list_served_pages() -> list[ServedPage]:
    """The pages that are served now, the lowest port first."""
    folder = sign_in_folder()
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = (_read(os.path.join(folder, name)) for name in names if name.endswith(SUFFIX))
    alive = (page for page in found if page is not None and is_alive(page.pid, page.started))
    return sorted(alive, key=lambda page: page.port)


def _read(path: str) -> ServedPage | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=ServedPage)
    except (OSError, msgspec.DecodeError):
        return None
