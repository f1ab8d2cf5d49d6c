"""Breakpoints of a workspace. They are kept in a file and outlive programs, sessions and hosts."""

import os
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import make_private_folder


class Breakpoint(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where to stop, or what to print there instead."""

    path: str
    """Absolute."""

    line: int
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None

    def to_dap(self) -> dict[str, Any]:
        wanted: dict[str, Any] = msgspec.to_builtins(self)
        del wanted["path"]
        return wanted


class FunctionBreakpoint(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Stops when a function of that name is entered."""

    name: str
    condition: str | None = None
    hit_condition: str | None = None

    def to_dap(self) -> dict[str, Any]:
        wanted: dict[str, Any] = msgspec.to_builtins(self)
        return wanted


class SavedBreakpoints(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The content of the file."""

    lines: list[Breakpoint] = []
    functions: list[FunctionBreakpoint] = []
    exceptions: list[str] | None = None
    """Filters of exceptions; None for the adapter's default."""


class WorkspaceBreakpoints:
    """All breakpoints of a workspace. A change is on disk when its method returns."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kept = _read(file)

    @property
    def lines(self) -> list[Breakpoint]:
        return sorted(self._kept.lines, key=lambda one: (one.path, one.line))

    @property
    def functions(self) -> list[FunctionBreakpoint]:
        return list(self._kept.functions)

    @property
    def exceptions(self) -> list[str] | None:
        return self._kept.exceptions

    def in_file(self, path: str) -> list[Breakpoint]:
        return [one for one in self.lines if one.path == path]

    def paths(self) -> list[str]:
        return sorted({one.path for one in self._kept.lines})

    def set(self, wanted: Breakpoint) -> None:
        """Sets a breakpoint, replacing one on the same line."""
        self.remove(wanted.path, wanted.line, keep=False)
        self._kept.lines.append(wanted)
        self._write()

    def remove(self, path: str, line: int | None = None, *, keep: bool = True) -> int:
        """Removes one, or all of a file. Returns how many there were."""
        before = len(self._kept.lines)
        self._kept.lines = [one for one in self._kept.lines if one.path != path or line not in (None, one.line)]
        if keep and len(self._kept.lines) != before:
            self._write()
        return before - len(self._kept.lines)

    def set_function(self, wanted: FunctionBreakpoint) -> None:
        self._kept.functions = [one for one in self._kept.functions if one.name != wanted.name] + [wanted]
        self._write()

    def remove_function(self, name: str) -> bool:
        before = len(self._kept.functions)
        self._kept.functions = [one for one in self._kept.functions if one.name != name]
        if found := len(self._kept.functions) != before:
            self._write()
        return found

    def set_exceptions(self, filters: list[str] | None) -> None:
        self._kept.exceptions = filters
        self._write()

    def clear(self) -> int:
        """Removes all. Returns how many there were."""
        count = len(self._kept.lines) + len(self._kept.functions)
        self._kept = SavedBreakpoints()
        self._write()
        return count

    def _write(self) -> None:
        make_private_folder(os.path.dirname(self._file))
        write_atomically(self._file, msgspec.json.format(msgspec.json.encode(self._kept), indent=1))


def _read(path: str) -> SavedBreakpoints:
    """The saved breakpoints. An unreadable file is moved aside: breakpoints are quickly set again."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=SavedBreakpoints)
    except msgspec.DecodeError:
        with suppress(OSError):
            os.replace(path, f"{path}.bad")
    except OSError:
        pass
    return SavedBreakpoints()
