"""Whether the files that a fork server has loaded are still those installed, by `stat` alone."""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

State = tuple[int, int, int, int] | None
"""Values that change with a file's content, even if its size and date are kept. None for a missing file."""

Fingerprint = Mapping[str, State]


def state_of(path: str) -> State:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def snapshot(package: str, distribution: str) -> dict[str, State]:
    """Every file of an installed package. Take it before loading, so that no change in between is missed."""
    return {path: state_of(path) for path in (*_files(package), *find_records(distribution))}


def fingerprint(before: Fingerprint, distribution: str, loaded: list[str]) -> Fingerprint:
    """The part of a snapshot that matters to a process that loaded these files."""
    return {path: before.get(path) for path in (*loaded, *find_records(distribution))}


def is_current(known: Fingerprint) -> bool:
    """Whether nothing has changed since."""
    return all(state_of(path) == state for path, state in known.items())


def _files(package: str) -> Iterator[str]:
    spec = find_spec(package)
    if spec is None:
        return
    if spec.origin:
        yield spec.origin
    for root in spec.submodule_search_locations or ():
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name != "__pycache__"]
            yield from (os.path.join(folder, name) for name in names)


def find_records(distribution: str) -> list[str]:
    """Files that every installation writes again, even if it leaves the loaded files unchanged."""
    found = []
    prefix = f"{distribution.replace('-', '_')}-"
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith(prefix) and name.endswith(".dist-info"):
                record = os.path.join(folder, name)
                found += [record, os.path.join(record, "RECORD")]
    return found
