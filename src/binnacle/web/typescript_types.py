"""Writes the types of everything that the page gets and sends as TypeScript, from the structs of the endpoints.

    python -m binnacle.web.typescript_types            prints them
    python -m binnacle.web.typescript_types --write    writes page/src/api/types.ts of this checkout
    python -m binnacle.web.typescript_types --check    says whether that file is as it should be

A struct becomes an interface with the same name. A field may be missing if it may be left out of a request, or if its
struct leaves out what has the default.
"""

import os
import sys
from collections.abc import Iterable, Sequence

from msgspec import NODEFAULT, Struct, inspect

from binnacle.web.endpoint_calls import PageError
from binnacle.web.endpoints import TOPICS, PageEndpoint, load_all
from binnacle.web.event_stream import ChangeMessage, TopicMessage
from binnacle.web.shown_projects import ProjectsPage

TARGET = os.path.join("page", "src", "api", "types.ts")

HEADING = """\
// Made from the Python structs by `make page`. Do not edit: change src/binnacle/web/api/ instead.
"""

PLAIN_TYPES: tuple[tuple[type[inspect.Type], str], ...] = (
    (inspect.StrType, "string"),
    (inspect.IntType, "number"),
    (inspect.FloatType, "number"),
    (inspect.BoolType, "boolean"),
    (inspect.NoneType, "null"),
    (inspect.DateTimeType, "string"),
    (inspect.DateType, "string"),
    (inspect.AnyType, "unknown"),
    (inspect.RawType, "unknown"),
)


def generate() -> str:
    """The text of the file."""
    endpoints = sorted(load_all().values(), key=lambda endpoint: endpoint.name)
    topics = sorted(TOPICS.values(), key=lambda topic: topic.name)
    writer = _TypeWriter()
    for endpoint in endpoints:
        writer.add(endpoint.asked, is_asked=True)
    answers: list[type[Struct]] = [ProjectsPage, PageError, ChangeMessage, TopicMessage]
    answers += [endpoint.answer for endpoint in endpoints]
    answers += [topic.message for topic in topics]
    for struct in answers:
        writer.add(struct, is_asked=False)
    watched = [f"  {topic.name}: {topic.message.__name__};" for topic in topics]
    parts = [
        HEADING,
        *writer.interfaces(),
        _map("Reads", "What the page can read, by name.", [e for e in endpoints if e.kind == "read"]),
        _map("Actions", "What a person can do on the page, by name.", [e for e in endpoints if e.kind == "action"]),
        _block("Topics", "What the page can watch, by name: the type of the messages.", watched),
    ]
    return "\n".join(parts)


class _TypeWriter:
    """The interfaces of all structs that were added, and of all that these contain."""

    def __init__(self) -> None:
        self._found: dict[str, inspect.StructType] = {}
        self._asked: set[str] = set()

    def add(self, struct: type[Struct], *, is_asked: bool) -> None:
        self._visit(inspect.type_info(struct), is_asked=is_asked)

    def interfaces(self) -> Iterable[str]:
        for name in sorted(self._found):
            yield self._interface(self._found[name])

    def _visit(self, described: inspect.Type, *, is_asked: bool) -> None:
        if isinstance(described, inspect.StructType):
            name = described.cls.__name__
            known = self._found.setdefault(name, described)
            if known.cls is not described.cls:
                raise ValueError(f"two types are called {name}: {known.cls.__module__}, {described.cls.__module__}")
            if known is not described and (not is_asked or name in self._asked):
                return
            if is_asked:
                self._asked.add(name)
            for field in described.fields:
                self._visit(field.type, is_asked=is_asked)
            return
        for part in _parts_of(described):
            self._visit(part, is_asked=is_asked)

    def _interface(self, described: inspect.StructType) -> str:
        struct = described.cls
        tag = [f"  {described.tag_field}: {_literal(described.tag)};"] if described.tag_field else []
        may_miss = struct.__name__ in self._asked or struct.__struct_config__.omit_defaults
        fields = [_field(field, may_miss=may_miss) for field in described.fields]
        about = (struct.__doc__ or "").strip().partition("\n")[0]
        return _block(struct.__name__, about, [*tag, *fields])


def _parts_of(described: inspect.Type) -> Sequence[inspect.Type]:
    match described:
        case inspect.UnionType():
            return described.types
        case inspect.TupleType():
            return described.item_types
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return (described.item_type,)
        case inspect.DictType():
            return (described.value_type,)
    return ()


def _field(field: inspect.Field, *, may_miss: bool) -> str:
    has_default = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
    mark = "?" if not field.required and may_miss and has_default else ""
    return f"  {field.encode_name}{mark}: {type_of(field.type)};"


def type_of(described: inspect.Type) -> str:
    """A type in TypeScript.

    Raises:
        TypeError: the page has no such type.
    """
    parts = [type_of(part) for part in _parts_of(described)]
    match described:
        case inspect.StructType():
            found = described.cls.__name__
        case inspect.LiteralType():
            found = " | ".join(map(_literal, sorted(described.values, key=str)))
        case inspect.UnionType():
            found = " | ".join(dict.fromkeys(parts))
        case inspect.TupleType():
            found = f"[{', '.join(parts)}]"
        case inspect.DictType():
            found = f"Record<string, {parts[0]}>"
        case _ if parts:
            found = f"({parts[0]})[]" if " | " in parts[0] else f"{parts[0]}[]"
        case _:
            found = next((name for kind, name in PLAIN_TYPES if isinstance(described, kind)), "")
    if not found:
        raise TypeError(f"the page has no type for {described}")
    return found


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _map(name: str, about: str, endpoints: Sequence[PageEndpoint]) -> str:
    lines = [f"  {one.name}: {{ asked: {one.asked.__name__}; answer: {one.answer.__name__} }};" for one in endpoints]
    return _block(name, about, lines)


def _block(name: str, about: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"/** {about} */\nexport interface {name} {{\n{body}\n}}\n" if lines else (
        f"/** {about} */\nexport type {name} = Record<never, never>;\n"
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    text = generate()
    if not arguments:
        sys.stdout.write(text)
        return 0
    if arguments[0] == "--write":
        with open(TARGET, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(TARGET, encoding="utf-8") as file:
        is_current = file.read() == text
    if not is_current:
        sys.stderr.write(f"{TARGET} is not current; run: python -m binnacle.web.typescript_types --write\n")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
