"""Changes one server's entry in a file. Comments, order and layout of the rest stay; a backup is kept."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from binnacle.config.clients import jsonc
from binnacle.config.clients.config_text import ConfigText
from binnacle.config.clients.foreign_files import locked, read, write
from binnacle.config.clients.jsonc_parser import parse
from binnacle.upstream.configuration.server_entry import snake_case
from binnacle.upstream.configuration.server_loader import CONTAINERS

_BOM = "\ufeff"


class EditedFile(NamedTuple):
    """A file that was changed."""

    file: str
    is_changed: bool
    backup: str | None = None


def put_server(path: str, name: str, entry: dict[str, Any], *, is_private: bool = False) -> EditedFile:
    """Adds a server, or replaces the one of that name. Makes the file if it is not there.

    Args:
        is_private: only the person may read a new file.

    Raises:
        ConfigError: the file is not JSON or cannot be written; it is unchanged.
    """

    def put(source: ConfigText) -> str:
        return jsonc.put_at(source, (_container(source, name), name), entry)

    return _change(path, put, mode=0o600 if is_private else 0o644)


def take_server(path: str, name: str) -> EditedFile:
    """Takes a server out. Raises as `put_server` does."""
    return _change(path, lambda source: jsonc.take_at(source, (_container(source, name), name)))


def switch_server(path: str, name: str, *, enabled: bool) -> EditedFile:
    """Enables or disables a server that is in the file. Raises as `put_server` does."""

    def switched(source: ConfigText) -> str:
        container = _container(source, name)
        key, value = _switch(_entries(source, container).get(name), enabled=enabled)
        return jsonc.put_at(source, (container, name, key), value) if key else source.text

    return _change(path, switched)


def _switch(entry: Any, *, enabled: bool) -> tuple[str, bool]:
    """The key to set and its value, in the entry's own words; no key if nothing has to change."""
    keys = {snake_case(key): key for key in entry} if isinstance(entry, dict) else {}
    if "disabled" in keys:
        return keys["disabled"], not enabled
    if "enabled" in keys or not enabled:
        return keys.get("enabled", "enabled"), enabled
    return "", enabled


def _container(source: ConfigText, name: str) -> str:
    """The key below which a server is, or should be, in this file."""
    there = [key for key in CONTAINERS if _entries(source, key)]
    return next((key for key in there if name in _entries(source, key)), next(iter(there), _empty_container(source)))


def _empty_container(source: ConfigText) -> str:
    root = parse(source)
    keys = root.value if root and isinstance(root.value, dict) else {}
    return next((key for key in CONTAINERS if key in keys), CONTAINERS[0])


def _entries(source: ConfigText, container: str) -> dict[str, Any]:
    root = parse(source)
    value = root.value.get(container) if root and isinstance(root.value, dict) else None
    return value if isinstance(value, dict) else {}


def _change(path: str, edit: Callable[[ConfigText], str], *, mode: int = 0o644) -> EditedFile:
    if not os.path.exists(path) and not edit(ConfigText(path, "")):
        return EditedFile(path, is_changed=False)
    with locked(path):
        before = read(path)
        text = before or ""
        bom = _BOM if text.startswith(_BOM) else ""
        after = bom + edit(ConfigText(path, text.removeprefix(_BOM)))
        if after == text:
            return EditedFile(path, is_changed=False)
        if before is None:
            _create(path, mode)
        return EditedFile(path, is_changed=True, backup=write(path, before=before, after=after))


def _create(path: str, mode: int) -> None:
    """Makes an empty file; later changes keep its mode."""
    with suppress(OSError):  # reported when the file is written
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
