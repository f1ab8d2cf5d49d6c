"""The list of tools, saved between starts, because making it imports all code that executes them.

A saved list is found by the state of the files it was made from, so it is never older than the program.
"""

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

import binnacle
from binnacle.config.atomic_write import write_atomically
from binnacle.config.directories import PROJECT_DIR, cache_dir, trust_file
from binnacle.config.private_files import make_private_folder
from binnacle.config.repository_files import is_folder_inside, root_of

SOURCES = (
    "tools",
    "tools/work",
    "plan",
    "plan/recipes",
    "bridge",
    "bridge/scripts",
    "upstream",
    "upstream/listing",
    "upstream/toolsets",
)
"""Folders of the program that determine the list."""

MAX_KEPT_LISTS = 50
"""Lists kept at once; beyond that, the oldest is removed."""


class ToolList(NamedTuple):
    """The instructions and tools that a client gets first."""

    instructions: str
    tools: bytes
    """The tools of `tools/list`, a JSON array."""


def read_or_make_list(state: int, make: Callable[[], ToolList], *, upstreams_key: str = "") -> ToolList:
    """The saved list of a session, or a new one, which is saved. `state` is the `fingerprint` of its recipe.

    `upstreams_key` stands for the configured upstream servers; without a list for it, that of our own tools is used.
    """
    for one in dict.fromkeys((upstreams_key, "")):
        with contextlib.suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
            with open(_path(state, one), "rb") as file:
                instructions, tools = msgspec.json.decode(file.read(), type=tuple[str, msgspec.Raw])
            return ToolList(instructions, bytes(tools))
    made = make()
    save_list(state, made, upstreams_key=upstreams_key)
    return made


def save_list(state: int, made: ToolList, *, upstreams_key: str) -> None:
    """Saves a list. One that cannot be saved is made again next time."""
    with contextlib.suppress(OSError):
        _save(_path(state, upstreams_key), msgspec.json.encode((made.instructions, msgspec.Raw(made.tools))))


def _path(state: int, upstreams_key: str) -> str:
    number = zlib.crc32(upstreams_key.encode()) if upstreams_key else 0
    return os.path.join(cache_dir(), f"tools-{state:08x}{number:08x}.json")


def _save(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    make_private_folder(folder)
    write_atomically(path, content)
    with os.scandir(folder) as entries:
        known = sorted((one.stat().st_mtime_ns, one.path) for one in entries if one.name.startswith("tools-"))
    for _, old in known[:-MAX_KEPT_LISTS]:
        os.unlink(old)


def fingerprint(recipe: str, repo: str) -> int:
    """A number that changes when a file changes that the list of a recipe is made from."""
    (program,) = binnacle.__path__
    folders = [os.path.join(program, *name.split("/")) for name in SOURCES]
    folders.append(os.path.join(repo, PROJECT_DIR, "recipes"))
    states = [*_states(folders), *_script_states(os.path.join(repo, PROJECT_DIR, "scripts"))]
    states += _trust_states(repo)
    return zlib.crc32("\n".join([binnacle.__version__, recipe, *states]).encode())


def _trust_states(repo: str) -> list[str]:
    """The state of the trust file, if the project has files that trust could affect."""
    if not os.path.isdir(os.path.join(repo, PROJECT_DIR)):
        return []
    with contextlib.suppress(OSError):
        found = os.stat(trust_file())
        return [f"{found.st_mtime_ns} {found.st_size}"]
    return []


def _script_states(folder: str) -> Iterator[str]:
    """The states of the project's own scripts."""
    root = root_of(folder)
    is_there = root is not None and is_folder_inside(root, folder)  # a link may lead to any files
    files = [os.path.join(here, name) for here, _, names in os.walk(folder) for name in names] if is_there else []
    for path in sorted(files):
        with contextlib.suppress(OSError):
            found = os.stat(path)
            yield f"{path} {found.st_mtime_ns} {found.st_size} {found.st_mode}"


def _states(folders: list[str]) -> Iterator[str]:
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            yield from sorted(
                f"{entry.path} {entry.stat().st_mtime_ns} {entry.stat().st_size}"
                for entry in entries
                if entry.name.endswith((".py", ".yaml"))
            )
