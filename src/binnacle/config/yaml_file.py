"""Reads YAML files that people write, and says what is wrong with them by line."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import yaml

from binnacle.errors import ConfigError, did_you_mean

Value = TypeVar("Value")
Path = tuple[str | int, ...]


class Lines:
    """Where in a file the parts of its value stand."""

    def __init__(self, file: str, lines: Mapping[Path, int]) -> None:
        self.file = file
        self._lines = lines

    def at(self, *path: str | int) -> str:
        """`file:line` of a part, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self._lines:
                return f"{self.file}:{self._lines[path[:end]]}"
        return self.file


def load(file: str, kind: type[Value]) -> tuple[Value, Lines]:
    """The value a file holds, and where its parts stand.

    Raises:
        ConfigError: with the file, the line, the key, and what was expected.
    """
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}", hint="check the path and its permissions") from error
    return parse(text, kind, file=file)


def parse(text: str, kind: type[Value], *, file: str) -> tuple[Value, Lines]:
    """The same for text that was read from `file`."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{file}:{line}: not YAML: {error.problem}", hint="check indentation and quotes") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {error}", hint="it must be UTF-8 text") from error
    lines = Lines(file, _lines(node))
    try:
        return msgspec.convert(data if data is not None else {}, kind), lines
    except msgspec.ValidationError as error:
        raise _explained(str(error), kind, lines) from error


def _lines(node: Any, path: Path = ()) -> dict[Path, int]:
    if node is None:
        return {}
    found = {path: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            found |= _lines(value, (*path, key.value))
            found[(*path, key.value)] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            found |= _lines(value, (*path, index))
    return found


def _explained(problem: str, kind: Any, lines: Lines) -> ConfigError:
    """What msgspec found, with the place and the nearest word."""
    said, _, where = problem.partition(" - at `$")
    path: Path = tuple(
        int(index) if index else key for key, index in re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", where.rstrip("`"))
    )
    if unknown := re.search(r"unknown field `(.+)`", said):
        word = unknown[1]
        known = _keys_at(kind, path)
        hint = did_you_mean(word, known) if known else "take it out"
        return ConfigError(f"{lines.at(*path, word)}: unknown key {word!r}", hint=hint)
    key = ".".join(str(one) for one in path)
    said = said.replace("`", "").lower()
    return ConfigError(f"{lines.at(*path)}: {f'{key}: ' if key else ''}{said}", hint="see docs for the format")


def _keys_at(kind: Any, path: Path) -> list[str]:
    """The keys known at a place: those of the struct there, through lists; none where it cannot be told."""
    here: Any = msgspec.inspect.type_info(kind)
    for step in path:
        if isinstance(here, msgspec.inspect.StructType):
            here = next((one.type for one in here.fields if one.encode_name == step), None)
        else:
            here = getattr(here, "item_type", None)
    return [one.encode_name for one in here.fields] if isinstance(here, msgspec.inspect.StructType) else []
