"""Reads YAML files that people write, and reports errors by line."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import yaml

from binnacle.config import repository_files
from binnacle.errors import ConfigError, did_you_mean

Value = TypeVar("Value")
Path = tuple[str | int, ...]

ANY = ""
"""A step of a path that matches any key."""


class YamlLines:
    """The lines of the parts of a file's value."""

    def __init__(self, file: str, lines: Mapping[Path, int]) -> None:
        self.file = file
        self._lines = lines

    def at(self, *path: str | int) -> str:
        """`file:line` of a part, or of the nearest enclosing part."""
        for end in range(len(path), -1, -1):
            if path[:end] in self._lines:
                return f"{self.file}:{self._lines[path[:end]]}"
        return self.file


def load(file: str, kind: type[Value], *, root: str | None = None) -> tuple[Value, YamlLines]:
    """The value of a file, and the lines of its parts. `root` is the repository, for a file of a project.

    Raises:
        ConfigError: the error names the file, the line, the key, and what was expected.
    """
    try:
        text = repository_files.read_file(file, root=root).decode()
    except (OSError, UnicodeDecodeError) as error:
        hint = repository_files.hint_of(error, "check the path and its permissions")
        raise ConfigError(f"cannot read {file}: {error}", hint=hint) from error
    return parse(text, kind, file=file)


def parse(text: str, kind: type[Value], *, file: str) -> tuple[Value, YamlLines]:
    """The same for text that was read from `file`."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        lines = YamlLines(file, dict(_lines(node, file, set())))
        data = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{file}:{line}: not YAML: {error.problem}", hint="check indentation and quotes") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {error}", hint="it must be UTF-8 text") from error
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        # The YAML library raises these for an impossible date, a wrong tag, or a thousand brackets.
        raise ConfigError(f"{file}: a value in it cannot be read: {error}", hint="put it in quotes") from error
    try:
        return msgspec.convert(data if data is not None else {}, kind), lines
    except msgspec.ValidationError as error:
        raise _explain(str(error), kind, lines, data) from error


def _lines(node: Any, file: str, seen: set[int], path: Path = ()) -> Iterator[tuple[Path, int]]:
    """The line of each part. Aliases and duplicate keys are refused."""
    if node is None:
        return
    line = node.start_mark.line + 1
    if id(node) in seen:
        # A few lines of aliases can expand to more than memory can hold.
        raise ConfigError(f"{file}:{line}: an alias (*) is used for this", hint="write it out in both places")
    seen.add(id(node))
    yield path, line
    if isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in keys:
                raise ConfigError(f"{file}:{line}: {name!r} occurs twice", hint="keep one of them")
            keys.add(name)
            yield from _lines(value, file, seen, (*path, name))
            yield (*path, name), line
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _lines(value, file, seen, (*path, index))


def _explain(problem: str, kind: Any, lines: YamlLines, data: Any) -> ConfigError:
    """The error that msgspec found, with its place and the nearest word."""
    said, _, where = problem.partition(" - at `")
    path = _path(where.rstrip("`"))
    kinds = list(_kinds_at(msgspec.inspect.type_info(kind), path))
    if unknown := re.search(r"unknown field `(.+)`", said):
        word = unknown[1]
        place = next(_find_holding(word, data, path), path)
        known = [
            one.encode_name for kind in kinds if isinstance(kind, msgspec.inspect.StructType) for one in kind.fields
        ]
        return ConfigError(f"{lines.at(*place, word)}: unknown key {word!r}", hint=did_you_mean(word, known))
    path = next(_find_refused(said, data, path), path)
    key = ".".join(str(one) for one in path if one != ANY)
    choices = [str(word) for one in kinds if isinstance(one, msgspec.inspect.LiteralType) for word in one.values]
    given = re.search(r"enum value '(.+)'", said)
    hint = did_you_mean(given[1], choices) if given else "compare it with a file that works"
    told = said.replace("`", "")
    return ConfigError(f"{lines.at(*path)}: {f'{key}: ' if key else ''}{told[0].lower()}{told[1:]}", hint=hint)


def _path(where: str) -> Path:
    """`$.tools[0][...]` as steps. msgspec does not name the keys of a free mapping."""
    steps = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])", where)
    return tuple(int(index) if index else key or ANY for key, index, _ in steps)


def _find_refused(said: str, data: Any, path: Path) -> Iterator[Path]:
    """The places of values with the refused type or word, at a path that may have `ANY` steps."""
    wrong = re.search(r"enum value '(.+)'|got `(\w+)`", said)
    if wrong is None or ANY not in path:
        return
    word, kind = wrong.groups()
    for place, value in _values_at(data, path):
        if value == word if word else _KINDS.get(type(value)) == kind:
            yield place


def _values_at(data: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every value at a path that may have `ANY` steps, with its full path."""
    if not path:
        yield (), data
        return
    step, rest = path[0], path[1:]
    if isinstance(data, dict):
        steps: list[Any] = [step] if step in data else [*data] if step == ANY else []
    else:
        steps = [step] if isinstance(data, list) and isinstance(step, int) and step < len(data) else []
    for one in steps:
        yield from (((str(one) if step == ANY else one, *place), value) for place, value in _values_at(data[one], rest))


_KINDS = {str: "str", int: "int", float: "float", bool: "bool", list: "array", dict: "object", type(None): "null"}
"""msgspec's names for the types of YAML values."""


def _find_holding(word: str, data: Any, path: Path) -> Iterator[Path]:
    """The places of mappings with the key `word`, at a path that may have `ANY` steps."""
    if not path:
        if isinstance(data, dict) and word in data:
            yield ()
        return
    step, rest = path[0], path[1:]
    if step != ANY:
        inner = data.get(step) if isinstance(data, dict) else data[step]
        yield from ((step, *found) for found in _find_holding(word, inner, rest))
    elif isinstance(data, dict):
        for key, inner in data.items():
            yield from ((str(key), *found) for found in _find_holding(word, inner, rest))


def _kinds_at(here: Any, path: Path) -> Iterator[Any]:
    """The types that a value at a path may have."""
    if isinstance(here, msgspec.inspect.UnionType):
        for one in here.types:
            yield from _kinds_at(one, path)
    elif not path:
        yield here
    elif isinstance(here, msgspec.inspect.StructType):
        for field in here.fields:
            if field.encode_name == path[0]:
                yield from _kinds_at(field.type, path[1:])
    elif (inner := getattr(here, "value_type", None) or getattr(here, "item_type", None)) is not None:
        yield from _kinds_at(inner, path[1:])
