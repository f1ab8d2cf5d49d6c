"""Values to rows and back: one mapping for every entity, derived from its struct."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from binnacle.store.connection import Row
from binnacle.store.store import Reader, Writer, stamp

Value = TypeVar("Value", bound=msgspec.Struct)


class Table(Generic[Value]):
    """The table that keeps values of one struct: a column for every field, named like it."""

    def __init__(self, name: str, struct: type[Value], *, json: Sequence[str] = (), times: Sequence[str] = ()) -> None:
        """`json` names the fields kept as JSON text, `times` those that are moments."""
        self.name = name
        self.struct = struct
        self._fields = struct.__struct_fields__
        self._columns = ", ".join(self._fields)
        self._json = [self._fields.index(field) for field in json]
        self._times = [self._fields.index(field) for field in times]

    def row(self, value: Value) -> dict[str, Any]:
        """A value as it is kept, by column."""
        return {name: cell(getattr(value, name)) for name in self._fields}

    @property
    def columns(self) -> str:
        """The columns of a value, for a `select` or a `returning`."""
        return self._columns

    def value(self, row: Row) -> Value:
        """A row selected by `columns`, as a value."""
        cells = list(row)
        for index in self._json:
            cells[index] = msgspec.json.decode(cells[index])
        for index in self._times:
            if cells[index] is not None:
                cells[index] = datetime.fromisoformat(cells[index])
        return msgspec.convert(dict(zip(self._fields, cells, strict=True)), self.struct, strict=False)

    def select(self, tx: Reader, rest: str = "", *parameters: Any) -> list[Value]:
        """The values that `rest` (`where …`, `order by …`) picks."""
        rows = tx.rows(f"select {self._columns} from {self.name} {rest}", *parameters)
        return [self.value(row) for row in rows]

    def first(self, tx: Reader, rest: str, *parameters: Any) -> Value | None:
        """The first of them, if any."""
        found = self.select(tx, f"{rest} limit 1", *parameters)
        return found[0] if found else None

    def insert(self, tx: Writer, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adds rows; every row names the same columns, which may be more than the struct has."""
        rows = list(rows)
        if not rows:
            return
        names = list(rows[0])
        marks = ", ".join("?" * len(names))
        tx.run_many(
            f"insert into {self.name} ({', '.join(names)}) values ({marks})",
            [[cell(row[name]) for name in names] for row in rows],
        )

    def update(self, tx: Writer, changes: Mapping[str, Any], where: str, *parameters: Any) -> int:
        """Changes columns of the rows that `where` picks."""
        assignments = ", ".join(f"{name} = ?" for name in changes)
        values = [cell(value) for value in changes.values()]
        return tx.run(f"update {self.name} set {assignments} where {where}", *values, *parameters)


def cell(value: Any) -> Any:
    """A value in the form both engines keep it in."""
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (tuple, list, dict)):
        return msgspec.json.encode(value).decode()
    return value


def like_literal(text: str) -> str:
    """`text` as a part of a `like` pattern with `escape '!'`, matching only itself."""
    return "".join(f"!{c}" if c in "!%_" else c for c in text)


def marks(items: Sequence[object]) -> str:
    """Placeholders for a list of values: `(?, ?, ?)`."""
    return f"({', '.join('?' * len(items))})"
