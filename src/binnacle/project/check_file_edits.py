"""Adds checks to the file of a project's checks, without touching what people wrote there."""

import os
import re

import msgspec
from msgspec import Struct

from binnacle.config import repository_files
from binnacle.errors import ConfigError, Duplicate
from binnacle.project.check_file import CHECK_FILE, parse_check_file
from binnacle.work.check import CHECK_TIMEOUT_SECONDS, CheckTier

_LIST = re.compile(r"checks:\s*(?:#.*)?")
_EMPTY_LIST = re.compile(r"checks:\s*\[\s*\]\s*(?:#.*)?")
_ITEM = re.compile(r"(\s*)- ")


class WrittenCheck(Struct, frozen=True, kw_only=True):
    """A check as it is written into the file."""

    name: str
    command: str
    setup: str = ""
    cache: tuple[str, ...] = ()
    timeout: float = CHECK_TIMEOUT_SECONDS
    tier: CheckTier = "fast"


def add_checks(repo: str, written: list[WrittenCheck]) -> str:
    """Writes checks at the end of the list, all or none. Returns the path of the file.

    Raises:
        Duplicate: there is one of that name.
        ConfigError: the file, or a value, is not right.
    """
    path = os.path.join(repo, CHECK_FILE)
    text = _read(path, repo)
    known = {one.name for one in parse_check_file(text, file=path).checks}
    if taken := next((one.name for one in written if one.name in known), None):
        raise Duplicate(f"there is a check {taken!r} already", hint=f"edit it in {CHECK_FILE}, or give another name")
    changed = append_checks(text, written)
    names = [one.name for one in parse_check_file(changed, file=path).checks]
    if len(names) != len(known) + len(written):
        raise ConfigError(f"{path}: the list of checks is not written in a way that can be extended", hint="edit it")
    try:
        repository_files.write_inside(repo, path, changed.encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error}", hint=repository_files.hint_of(error)) from error
    return path


def append_checks(text: str, written: list[WrittenCheck]) -> str:
    """The text of a file with more checks at the end of its list."""
    if not written:
        return text
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if _LIST.fullmatch(line)), None)
    if start is None:
        empty = next((number for number, line in enumerate(lines) if _EMPTY_LIST.fullmatch(line)), None)
        if empty is None:
            lines += ["checks:"]
            start = len(lines) - 1
        else:
            lines[empty] = "checks:"
            start = empty
    end = start + 1
    indent = "  "
    for number, line in enumerate(lines[start + 1 :], start + 1):
        if line.strip() and not line.startswith((" ", "\t", "#", "-")):
            break
        if found := _ITEM.match(line):
            indent = found[1] if end == start + 1 else indent
        if line.strip() and not line.startswith("#"):
            end = number + 1
    entries = [line for one in written for line in _write(one, indent)]
    return "\n".join([*lines[:end], *entries, *lines[end:]]) + "\n"


def _write(one: WrittenCheck, indent: str) -> list[str]:
    values: dict[str, object] = {"name": one.name, "command": one.command, "setup": one.setup, "cache": one.cache}
    if one.timeout != CHECK_TIMEOUT_SECONDS:
        values["timeout"] = one.timeout
    if one.tier != "fast":
        values["tier"] = one.tier
    # A text in JSON is one in YAML.
    shown = [f"{key}: {msgspec.json.encode(value).decode()}" for key, value in values.items() if value]
    return [f"{indent}{'- ' if number == 0 else '  '}{line}" for number, line in enumerate(shown)]


def _read(path: str, repo: str) -> str:
    try:
        return repository_files.read_file(path, root=repo).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}", hint=repository_files.hint_of(error)) from error
