"""Converts values to rows and back: one mapping for every entity, derived from its struct."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from binnacle.store.engines.connection import Row
from binnacle.store.transaction import MAX_REMEMBERED_ROWS, Cells, Reader, Writer, stamp

Value = TypeVar("Value", bound=msgspec.Struct)


class Table(Generic[Value]):
    """The table of one struct: a column for every field, with the same name."""

    def __init__(
        self,
        name: str,
        struct: type[Value],
        *,
        json: Sequence[str] = (),
        times: Sequence[str] = (),
        key: Sequence[str] = (),
    ) -> None:
        """`json` names the fields stored as JSON text, `times` those that are times.

        `key` names the fields of its key. Rows of a table with a key are remembered, so that changes can be undone.
        """
        self.name = name
        self._key = tuple(key)
        self.struct = struct
        self._fields = struct.__struct_fields__
        self._columns = ", ".join(self._fields)
        self._json = [self._fields.index(field) for field in json]
        self._times = [self._fields.index(field) for field in times]
        self._inserts: dict[tuple[str, ...], str] = {}
        """Insert statements, by columns."""

    def row(self, value: Value) -> dict[str, Any]:
        """A value as stored, by column."""
        return {name: encode_cell(getattr(value, name)) for name in self._fields}

    @property
    def columns(self) -> str:
        """The columns of a value, for a `select` or a `returning`."""
        return self._columns

    def value(self, row: Row) -> Value:
        """A row selected by `columns`, as a value."""
        cells = list(row)
        for index in self._json:
            cells[index] = () if cells[index] == "[]" else _JSON_DECODER.decode(cells[index])
        for index in self._times:
            if cells[index] is not None:
                cells[index] = datetime.fromisoformat(cells[index])
        return msgspec.convert(dict(zip(self._fields, cells, strict=True)), self.struct, strict=False)

    def select(self, tx: Reader, rest: str = "", *parameters: Any) -> list[Value]:
        """The values that `rest` (`where …`, `order by …`) selects."""
        rows = tx.rows(f"select {self._columns} from {self.name} {rest}", *parameters)
        return [self.value(row) for row in rows]

    def first(self, tx: Reader, rest: str, *parameters: Any) -> Value | None:
        """The first value that `rest` selects, or None."""
        found = self.select(tx, f"{rest} limit 1", *parameters)
        return found[0] if found else None

    def insert(self, tx: Writer, rows: Iterable[Mapping[str, Any]]) -> None:
        """Inserts rows; every row has the same columns, which may be more than the struct has."""
        rows = list(rows)
        if not rows:
            return
        if self._key and tx.is_remembering:
            for row in rows:
                tx.remember(self, self._key_of(row), None)
        names = tuple(rows[0])
        sql = self._inserts.get(names)
        if sql is None:
            sql = f"insert into {self.name} ({', '.join(names)}) values {placeholders(names)}"
            self._inserts[names] = sql
        tx.run_many(sql, [_encode_cells(map(row.__getitem__, names)) for row in rows])

    def update(self, tx: Writer, changes: Mapping[str, Any], where: str, *parameters: Any) -> int:
        """Changes columns of the rows that `where` selects."""
        self.remember(tx, f"where {where}", *parameters)
        assignments = ", ".join(f"{name} = ?" for name in changes)
        values = _encode_cells(changes.values())
        return tx.run(f"update {self.name} set {assignments} where {where}", *values, *parameters)

    def delete(self, tx: Writer, where: str, *parameters: Any) -> int:
        """Deletes the rows that `where` selects, and returns how many."""
        self.remember(tx, f"where {where}", *parameters)
        return tx.run(f"delete from {self.name} where {where}", *parameters)

    def remember(self, tx: Writer, rest: str, *parameters: Any) -> None:
        """Remembers the rows that `rest` selects, if the change can be undone."""
        if not self._key or not tx.is_remembering:
            return
        sql = f"select {self._columns} from {self.name} {rest} limit {MAX_REMEMBERED_ROWS + 1}"
        for row in tx.rows(sql, *parameters):
            cells = dict(zip(self._fields, row, strict=True))
            tx.remember(self, self._key_of(cells), cells)

    def find(self, tx: Reader, key: Sequence[str]) -> Cells | None:
        """The stored row with this key, or None."""
        row = tx.row(f"select {self._columns} from {self.name} where {self.where_key}", *key)
        return dict(zip(self._fields, row, strict=True)) if row is not None else None

    @property
    def where_key(self) -> str:
        """The condition that selects the row of a key."""
        return " and ".join(f"{name} = ?" for name in self._key)

    def _key_of(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self._key)


def encode_cell(value: Any) -> Any:
    """A value in the form that both engines store."""
    encode = _ENCODERS.get(type(value))
    return value if encode is None else encode(value)


def _encode_cells(values: Iterable[Any]) -> list[Any]:
    """The same for several: rows are long, and most of their cells are kept as they are."""
    encoders = _ENCODERS
    return [encoders[kind](value) if (kind := type(value)) in encoders else value for value in values]


def _encode_json(value: Any) -> str:
    return _JSON.encode(value).decode()


def _encode_list(value: Sequence[Any]) -> str:
    return _encode_json(value) if value else "[]"


_JSON = msgspec.json.Encoder()
_JSON_DECODER = msgspec.json.Decoder()
_ENCODERS: dict[type, Callable[[Any], Any]] = {
    datetime: stamp,
    bool: int,
    tuple: _encode_list,
    list: _encode_list,
    dict: _encode_json,
}
"""Encoders of the types that the engines do not accept."""


def escape_like(text: str) -> str:
    """`text` escaped for a `like` pattern with `escape '!'`, so that it matches only itself."""
    return "".join(f"!{c}" if c in "!%_" else c for c in text)


def placeholders(items: Sequence[object]) -> str:
    """Placeholders for a list of values: `(?, ?, ?)`."""
    return f"({', '.join('?' * len(items))})"
