"""Edits TOML without reformatting it.

tomlkit keeps what it reads, but places a new table between a comment and its subject, mixes line endings and leaves
empty lines. So tables are found here and removed or appended as text, and tomlkit changes only keys within our own
table, or an entry that someone wrote without its own table. Every result is checked with `tomllib`.
"""

import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from binnacle.config.clients.config_text import (
    NAME,
    REMOTE_KEYS,
    ConfigText,
    EntryPlace,
    append_block,
    cut_block,
    merge_entry,
)

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|(?P<comment>\#[^\n]*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<space>\s+)|[^\s\"'#\[\]{}]+",
    re.DOTALL,
)


class _Table(NamedTuple):
    """A table with its own header, and the span of its lines."""

    path: tuple[str, ...]
    start: int
    end: int
    """The end of its last value: comments and empty lines after it belong to the next table."""


def put(source: ConfigText, place: EntryPlace) -> str:
    """The text with our entry. What a person added to the entry, such as `env`, is kept."""
    data = _parse(source)
    existing = _entry(source, data, place)
    place = EntryPlace(place.container, place.wanted(existing))
    wanted = place.entry if existing is None else merge_entry(existing, place.entry)
    if wanted == existing:
        return source.text
    expected = {**data, place.container: {**data.get(place.container, {}), NAME: wanted}}
    return _choose_correct(source, expected, lambda: _put_table(source, place), lambda: _put_inline(source, place))


def take(source: ConfigText, place: EntryPlace) -> str:
    """The text without our entry."""
    data = _parse(source)
    if _entry(source, data, place) is None:
        return source.text
    rest = {key: value for key, value in data[place.container].items() if key != NAME}
    expected = {**data, place.container: rest}
    return _choose_correct(source, expected, lambda: _take_tables(source, place), lambda: _take_inline(source, place))


def _parse(source: ConfigText) -> dict[str, Any]:
    try:
        return _loads(source.text)
    except tomllib.TOMLDecodeError as error:
        # The error has attributes for the place only since Python 3.14.
        message, _, place = str(error).rpartition(" (at ")
        found = re.match(r"line (\d+), column (\d+)", place)
        at = source.offset(int(found[1]), int(found[2])) if found else len(source.text)
        raise source.fault(message, at=at) from error
    except RecursionError as error:
        raise source.fault("nested too deeply") from error


def _loads(text: str) -> dict[str, Any]:
    """The value of a text. Floats stay text, because `nan` does not equal itself; our entry has none."""
    return tomllib.loads(text, parse_float=str)


def _entry(source: ConfigText, data: dict[str, Any], place: EntryPlace) -> dict[str, Any] | None:
    """Our existing entry, or None."""
    value: Any = data
    for key in (place.container, NAME):
        value = value.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise source.fault(f"{key!r} is not a table", hint=f"write it as [{place.container}.{NAME}]")
    return dict(value)


def _choose_correct(source: ConfigText, expected: dict[str, Any], *ways: Callable[[], str]) -> str:
    """The text of the first way that gives the expected value; an empty table counts as none."""
    from tomlkit.exceptions import TOMLKitError

    for way in ways:
        with suppress(TOMLKitError, tomllib.TOMLDecodeError):
            text = way()
            if _without_empty(_loads(text)) == _without_empty(expected):
                return text
    raise source.fault(
        f"the entry {NAME!r} is written in a way that cannot be changed", hint="remove it by hand and run this again"
    )


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value != {}}


def _put_table(source: ConfigText, place: EntryPlace) -> str:
    """The text with our entry as a table: the existing one with new values, or a new one at the end."""
    text, is_there = source.text, False
    for table in reversed(_ours(source, place)):
        if len(table.path) == 2:
            is_there = True
            text = text[: table.start] + _dump(text[table.start : table.end], place.entry) + text[table.end :]
        elif table.path[2] in REMOTE_KEYS:
            text = cut_block(text, table.start, table.end)
    if is_there:
        return text
    return append_block(source._replace(text=text), _dump(f"[{place.container}.{NAME}]", place.entry))


def _take_tables(source: ConfigText, place: EntryPlace) -> str:
    text = source.text
    for table in reversed(_ours(source, place)):
        text = cut_block(text, table.start, table.end)
    return text


def _dump(table: str, entry: dict[str, Any]) -> str:
    """The text of our table with the values of `entry` and its old comments, without sub-tables."""
    import tomlkit

    document = tomlkit.parse(table)
    (container,) = document.values()
    (ours,) = container.values()
    _update_entry(ours, entry)
    newline = "\r\n" if "\r\n" in table else "\n"
    return tomlkit.dumps(document).replace("\r\n", "\n").rstrip("\n").replace("\n", newline)


def _update_entry(table: Any, entry: dict[str, Any]) -> None:
    for key in REMOTE_KEYS.intersection(table) - entry.keys():
        del table[key]
    for key, value in entry.items():
        if table.get(key) != value:
            table[key] = value


def _put_inline(source: ConfigText, place: EntryPlace) -> str:
    """The text with our entry in an inline table or among dotted keys, if all servers are written that way."""
    import tomlkit

    document = tomlkit.parse(source.text)
    container: Any = document[place.container]
    if NAME not in container:
        container[NAME] = tomlkit.inline_table()
    _update_entry(container[NAME], place.entry)
    return tomlkit.dumps(document)


def _take_inline(source: ConfigText, place: EntryPlace) -> str:
    import tomlkit

    document = tomlkit.parse(source.text)
    container: Any = document[place.container]
    del container[NAME]
    return tomlkit.dumps(document)


def _ours(source: ConfigText, place: EntryPlace) -> list[_Table]:
    """The tables of our entry: its own and those below it."""
    return [table for table in _tables(source.text) if table.path[:2] == (place.container, NAME)]


def _tables(text: str) -> list[_Table]:
    """All tables that have a header."""
    tables: list[_Table] = []
    depth = end = 0
    header: int | None = None
    for token in _TOKEN.finditer(text):
        if token["space"] or token["comment"]:
            continue
        if token["open"] and depth == 0 and not text[_line_start(text, token.start()) : token.start()].strip():
            header = token.start()
        depth += bool(token["open"]) - bool(token["close"])
        end = token.end()
        if header is not None and depth == 0:
            tables.append(_Table(_path(text[header:end]), _line_start(text, header), end))
            header = None
        elif header is None and tables:
            tables[-1] = tables[-1]._replace(end=end)
    return [table._replace(end=_line_end(text, table.end)) for table in tables]


def _path(header: str) -> tuple[str, ...]:
    """The keys of a header."""
    value: Any = tomllib.loads(header)
    keys: list[str] = []
    while value:
        (key,) = value
        keys.append(key)
        value = value[key][0] if isinstance(value[key], list) else value[key]
    return tuple(keys)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """The end of the line around `index`, before its newline."""
    end = text.find("\n", index)
    if end < 0:
        return len(text)
    return end - 1 if text[end - 1] == "\r" else end
