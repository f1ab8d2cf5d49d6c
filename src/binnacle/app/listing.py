"""The list of tools, kept between starts: making it means importing everything that executes them.

The kept list is found by the state of the files it was made from, so it is never older than the program.
"""

import contextlib
import os
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from binnacle import __version__, tools
from binnacle.config.location import cache_dir

if TYPE_CHECKING:
    from binnacle.tools.spec import ToolSpec


def kept_listing(specs: Callable[[], "Iterable[ToolSpec]"]) -> bytes:
    """The tools as `tools/list` shows them; made from `specs` and kept, if it was not."""
    path = os.path.join(cache_dir(), f"tools-{_fingerprint():08x}.json")
    with contextlib.suppress(OSError, msgspec.DecodeError):
        with open(path, "rb") as file:
            found = file.read()
        if msgspec.json.decode(found, type=list[msgspec.Raw]):
            return found
    from binnacle.server.catalog_host import tool_entry

    made = msgspec.json.encode([tool_entry(spec) for spec in specs()])
    # A list that cannot be kept is made again next time.
    with contextlib.suppress(OSError):
        _keep(path, made)
    return made


def _keep(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(content)
    os.replace(temporary, path)
    for name in os.listdir(folder):
        if name.startswith("tools-") and os.path.join(folder, name) != path:
            os.unlink(os.path.join(folder, name))


def _fingerprint() -> int:
    """Changes when a file that the list is made from does."""
    parts = [__version__]
    for folder in (*tools.__path__, *(os.path.join(one, "work") for one in tools.__path__)):
        with os.scandir(folder) as entries:
            parts += sorted(
                f"{entry.path} {entry.stat().st_mtime_ns} {entry.stat().st_size}"
                for entry in entries
                if entry.name.endswith(".py")
            )
    return zlib.crc32("\n".join(parts).encode())
