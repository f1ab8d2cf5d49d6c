"""The text of a file to change, and errors that name a place in it."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from binnacle.errors import ConfigError

NAME = "binnacle"
"""The name of our entry in every client."""

REMOTE_KEYS = frozenset(
    {"url", "uri", "httpUrl", "serverUrl", "headers", "oauth"}
    | {"http_headers", "env_http_headers", "bearer_token_env_var"}
)
"""Keys of HTTP servers. Together with a command they make an entry ambiguous."""


_SERVE = ["mcp", "serve"]
_RECIPE = "--recipe"


class ConfigText(NamedTuple):
    """A file's text, decoded and without byte order mark; empty if the file does not exist."""

    path: str
    text: str

    @property
    def newline(self) -> str:
        """The line ending of the first line, which new text uses too."""
        end = self.text.find("\n")
        return "\r\n" if end > 0 and self.text[end - 1] == "\r" else "\n"

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, which both start at one."""
        lines = self.text.split("\n")
        return sum(len(one) + 1 for one in lines[: line - 1]) + column - 1

    def fault(self, message: str, *, at: int | None = None, hint: str = "") -> ConfigError:
        """An error that names the file and, if `at` is known, line and column."""
        details: dict[str, object] = {"file": self.path}
        place = self.path
        if at is not None:
            line = self.text.count("\n", 0, at) + 1
            column = at - self.text.rfind("\n", 0, at)
            details |= {"line": line, "column": column}
            place = f"{self.path}:{line}:{column}"
        hint = hint or "fix the file there and run this again; the file was not changed"
        return ConfigError(f"{place}: {message}", hint=hint, details=details)


class EntryPlace(NamedTuple):
    """Where our entry belongs in a file, and its content."""

    container: str
    """Key at the top of the file under which a client keeps its servers."""

    entry: dict[str, Any]
    additions: Mapping[str, Any] = MappingProxyType({})
    """Further values, unless a person has set them."""

    recipe: str | None = None
    """The recipe that the server is started with; None keeps the existing one, or the server's default."""

    def wanted(self, existing: Any = None) -> dict[str, Any]:
        """The content of our entry, given the existing one."""
        there = existing if isinstance(existing, dict) else {}
        entry = {key: self._started(there.get(key), value) for key, value in self.entry.items()}
        return entry | {key: _complete(there.get(key), value) for key, value in self.additions.items()}

    def _started(self, existing: Any, wanted: Any) -> Any:
        """The command of our server, with the options that a person added; any other value unchanged."""
        if not isinstance(wanted, list) or wanted[-2:] != _SERVE:
            return wanted
        is_ours = isinstance(existing, list) and existing[: len(wanted)] == wanted
        options = existing[len(wanted) :] if is_ours else []
        if self.recipe is None:
            return wanted + options
        if _RECIPE in options[:-1]:
            at = options.index(_RECIPE)
            return wanted + options[:at] + [_RECIPE, self.recipe] + options[at + 2 :]
        return [*wanted, _RECIPE, self.recipe, *options]


class TextEditor(NamedTuple):
    """Two changes of a text that undo each other. Neither changes a byte outside of our entry."""

    put: Callable[[ConfigText], str]
    take: Callable[[ConfigText], str]
    mark: str
    """A text without this mark has no entry of ours."""

    puts: Callable[[str], tuple[Callable[[ConfigText], str], ...]] = lambda _: ()
    """Other ways in which our entry may have been added to a text."""


def _complete(existing: Any, wanted: Any) -> Any:
    """The person's value; if it is a list, with the missing elements."""
    if isinstance(existing, list) and isinstance(wanted, list):
        return existing + [one for one in wanted if one not in existing]
    return wanted if existing is None else existing


def find_recipe(text: str) -> str | None:
    """The recipe that our server is started with, in a client's file of any format."""
    found = re.search(rf"{_RECIPE}[\s\"',=-]+([\w.-]+)", text)
    return found[1] if found else None


def merge_entry(existing: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Our entry in place of `existing`, with what a person added to it, such as `env`."""
    return {key: value for key, value in existing.items() if key not in REMOTE_KEYS} | entry


def append_block(source: ConfigText, block: str) -> str:
    """The text with `block` after an empty line at its end, and a final newline if it had one."""
    newline = source.newline
    block = block.replace("\n", newline)
    if not source.text.strip():
        return source.text + block + newline
    if not source.text.endswith("\n"):
        return source.text + newline * 2 + block
    gap = "" if source.text.endswith(newline * 2) else newline
    return source.text + gap + block + newline


def cut_block(text: str, start: int, end: int) -> str:
    """The text without the lines from `start` to `end` and the empty line before them: what `append_block` added.

    `end` is where the last line ends, before its newline.
    """
    before, after = text[:start], text[end:]
    if not after:
        # The file had no final newline; the one before the empty line was added too.
        return _without_newline(_without_newline(before))
    rest = after.removeprefix("\r").removeprefix("\n")
    is_spaced = before.endswith(("\n\n", "\n\r\n"))
    return (_without_newline(before) if is_spaced else before) + rest


def _without_newline(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
