"""Edits YAML without reformatting it.

PyYAML only finds the positions; text is then removed and inserted. A library that keeps comments by writing the whole
file again, like ruamel.yaml, reflows long lines and changes quotes and indentation of other entries. Every result is
parsed again and compared: in YAML, an additional line can change the value above it.
"""

import json
from typing import Any

from binnacle.config.clients.config_text import NAME, ConfigText, EntryPlace, merge_entry
from binnacle.errors import ConfigError

try:
    import yaml
except ImportError as _error:
    raise ConfigError("cannot change YAML without PyYAML", hint="pip install PyYAML") from _error

Pair = tuple[yaml.Node, Any]
"""A key and its value."""


def put(source: ConfigText, place: EntryPlace) -> str:
    """The text with our entry. What a person added to the entry, such as `envs`, is kept."""
    data, root = _load(source)
    container = _find(source, root, place.container)
    ours = _find(source, container and container[1], NAME)
    existing = data[place.container][NAME] if ours else {}
    entry = merge_entry(existing, place.wanted(existing))
    if ours and entry == existing:
        return source.text
    if container and ours:
        text = _replace(source, container[1], ours, entry)
    elif container:
        text = _insert(source, container[1], {NAME: entry})
    else:
        text = _append(source, root, {place.container: {NAME: entry}})
    return _check_result(source, text, {**data, place.container: {**data.get(place.container, {}), NAME: entry}})


def take(source: ConfigText, place: EntryPlace) -> str:
    """The text without our entry, and without the key around it if that becomes empty."""
    data, root = _load(source)
    container = _find(source, root, place.container)
    ours = _find(source, container and container[1], NAME)
    if not container or not ours:
        return source.text
    rest = {key: value for key, value in data[place.container].items() if key != NAME}
    if container[1].flow_style:
        text = _cut_flow(source.text, container[1], ours)
    else:
        text = _cut_lines(source.text, *_lines(source.text, ours))
        if not rest:
            del data[place.container]
            key = container[0]
            text = _cut_lines(text, _line_start(text, key.start_mark.index), _line_end(text, key.end_mark.index))
    return _check_result(source, text, {**data, place.container: rest} if place.container in data else data)


def _load(source: ConfigText) -> "tuple[dict[str, Any], yaml.MappingNode | None]":
    """The value of the text, and its nodes; no nodes if there are only comments."""
    try:
        root = yaml.compose(source.text, Loader=yaml.SafeLoader)
        # Parsed a second time, because construction changes the nodes.
        data = yaml.safe_load(source.text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise source.fault(error.problem or "not YAML", at=mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        raise source.fault("a character that YAML does not allow", at=error.position) from error
    except (RecursionError, ValueError) as error:
        raise source.fault(f"cannot be read: {error}") from error
    if root is None:
        return {}, None
    if not isinstance(root, yaml.MappingNode):
        raise source.fault("the file is not a mapping", at=root.start_mark.index)
    return data, root


def _find(source: ConfigText, node: Any, name: str) -> Pair | None:
    """The member `name` of a mapping, which must be a mapping too; None if there is none."""
    found = [pair for pair in node.value if pair[0].value == name] if node else []
    if not found:
        return None
    if len(found) > 1:
        at = found[1][0].start_mark.index
        raise source.fault(f"{name!r} occurs twice", at=at, hint="remove one of the two by hand")
    key, value = found[0]
    at = key.start_mark.index
    if value.start_mark.index < at:
        raise source.fault(f"{name!r} is an alias of something else", at=at, hint="write it out")
    if not isinstance(value, yaml.MappingNode):
        raise source.fault(f"{name!r} is not a mapping", at=at, hint=f"give it entries, or remove {name!r}")
    return key, value


def _insert(source: ConfigText, node: Any, member: dict[str, Any]) -> str:
    """The text with a new first member. After the last one, a comment or a multi-line text may still continue."""
    text = source.text
    if node.flow_style:
        at = node.start_mark.index + 1
        return f"{text[:at]}{json.dumps(member)[1:-1]}{', ' if node.value else ''}{text[at:]}"
    first = node.value[0][0].start_mark
    at = _line_start(text, first.index)
    for line in reversed(text[:at].splitlines(keepends=True)):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        at -= len(line)
    return text[:at] + _render(member, first.column, source.newline) + text[at:]


def _append(source: ConfigText, root: Any, member: dict[str, Any]) -> str:
    """The text with a new last key, without an empty line before it, which could become part of the value above."""
    text = source.text
    if root and root.flow_style:
        return _insert(source, root, member)
    at = root.end_mark.index if root else len(text)
    new = _render(member, root.start_mark.column if root else 0, source.newline)
    if at > 0 and text[at - 1] != "\n":
        new = source.newline + new.removesuffix(source.newline)
    return text[:at] + new + text[at:]


def _replace(source: ConfigText, container: Any, ours: Pair, entry: dict[str, Any]) -> str:
    text = source.text
    key, value = ours
    if container.flow_style or value.flow_style:
        return text[: value.start_mark.index] + json.dumps(entry) + text[value.end_mark.index :]
    start, end = _lines(text, ours)
    new = _render({NAME: entry}, key.start_mark.column, source.newline)
    return text[:start] + (new if text[:end].endswith("\n") else new.removesuffix(source.newline)) + text[end:]


def _cut_flow(text: str, container: Any, ours: Pair) -> str:
    keys = [pair[0] for pair in container.value]
    index = keys.index(ours[0])
    if index + 1 < len(keys):
        return text[: keys[index].start_mark.index] + text[keys[index + 1].start_mark.index :]
    start = container.value[index - 1][1].end_mark.index if index else container.start_mark.index + 1
    return text[:start] + text[ours[1].end_mark.index :]


def _cut_lines(text: str, start: int, end: int) -> str:
    """The text without some lines. A file without a final newline gets none."""
    if end == len(text) and not text.endswith("\n"):
        return text[:start].removesuffix("\n").removesuffix("\r")
    return text[:start] + text[end:]


def _render(member: dict[str, Any], column: int, newline: str) -> str:
    """Lines of block style at a column, each with its newline."""
    dumped = yaml.safe_dump(member, sort_keys=False, allow_unicode=True, width=100_000)
    return "".join(" " * column + line + newline for line in dumped.splitlines())


def _lines(text: str, member: Pair) -> tuple[int, int]:
    """The span of the lines of one member of a block mapping, including the last newline."""
    return _line_start(text, member[0].start_mark.index), _line_end(text, _last(*member))


def _last(key: yaml.Node, value: Any) -> int:
    """The real end of a member: PyYAML places the end of a block at the start of the next node."""
    if isinstance(value, yaml.CollectionNode) and not value.flow_style and value.value:
        below = value.value[-1]
        return _last(*below) if isinstance(below, tuple) else _last(below, below)
    end: int = max(key.end_mark.index, value.end_mark.index)
    return end


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """The position after the newline of the line around `index`; a multi-line text already ends there."""
    if text[index - 1 : index] == "\n":
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _check_result(source: ConfigText, text: str, expected: dict[str, Any]) -> str:
    """`text`, if it has the expected value."""
    try:
        data, _ = _load(source._replace(text=text))
    except ConfigError:
        data = None
    if data != expected:
        raise source.fault("the file is written in a way that cannot be changed safely", hint="change it by hand")
    return text
