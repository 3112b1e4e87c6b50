"""The rows of one call against the columns of a table: what the table lacks, and what to write.

Columns are sought in all rows of the call, also in those that a newer one replaces: so the table
gets the same columns however events are cut into batches. Values are looked at only in the rows
that are left. What was found out is kept, as the same rows may be tried again: after a column is
added, or after a conflict with another writer. Pure. Above: table.py. Below: columns.py, rows.py,
statements.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from kafkaesque.pipelines.tables.columns import KEY_TYPES, ColumnType, MisfitError, fitted, type_for
from kafkaesque.pipelines.tables.errors import RowError
from kafkaesque.pipelines.tables.rows import VERSION, Row, latest
from kafkaesque.pipelines.tables.statements import OWN

_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
_ID, _FIELDS = itemgetter(0), itemgetter(1)
_KEYS: dict[ColumnType, type] = {"text": str, "bigint": int}


@dataclass(frozen=True, slots=True)
class Batch:
    """A row for each id, with the values of the columns `names`, the key first."""

    names: Sequence[str]
    types: Sequence[ColumnType]
    rows: Sequence[tuple[Any, ...]]


class Incoming:
    """At least one row, for a table with that key."""

    def __init__(self, rows: Sequence[Row], key: str) -> None:
        self._rows = rows
        self._key = key
        self._newest: dict[ColumnType, list[Row]] = {}
        self._last: tuple[Mapping[str, ColumnType], Batch] | None = None

    def lacking(self, known: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
        """The columns that the rows need and that are not known, the key among them."""
        needed: dict[str, ColumnType] = {}
        if self._key not in known:
            needed[self._key] = _key_type(self._rows)
        unknown = self._names - (known.keys() - OWN.keys()) - {self._key}
        for name in sorted(unknown, key=str):
            if (column_type := self._type_of(name)) is not None:
                needed[name] = column_type
        return needed

    def batch(self, known: Mapping[str, ColumnType]) -> Batch:
        """The newest row of each id, as columns of the known types."""
        if self._last is None or self._last[0] != known:
            self._last = (known, self._batch(known))
        return self._last[1]

    @cached_property
    def _names(self) -> set[Any]:
        return set().union(*filter(None, map(_FIELDS, self._rows)))

    def _type_of(self, name: Any) -> ColumnType | None:
        holders = [row for row in self._rows if row[1] and name in row[1]]
        _require_free(name, holders[0])
        try:
            return type_for([row[1][name] for row in holders])  # type: ignore[index]
        except MisfitError as misfit:
            raise _row_error(holders[misfit.index], name, misfit) from None

    def _batch(self, known: Mapping[str, ColumnType]) -> Batch:
        key = self._key
        newest = self._newest.get(known[key])
        if newest is None:
            newest = self._newest[known[key]] = _newest_of(self._rows, known[key], key)
        names = [name for name in known if name not in OWN and name != key]
        every = [key, *names, *OWN]
        types = [known[name] for name in every]
        rows = _taken(newest, names)
        columns = list(zip(*rows, strict=True))
        stored = [_column(newest, *column) for column in zip(every, columns, types, strict=True)]
        if any(one is not other for one, other in zip(stored, columns, strict=True)):
            rows = list(zip(*stored, strict=True))
        return Batch(every, types, rows)


def _taken(newest: Sequence[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """As they are written: id, fields, whether it is deleted, version."""
    if len(names) > 1:
        take: Any = itemgetter(*names)
        try:
            return [(row[0], *take(row[1]), False, *row[2:]) for row in newest]
        except (KeyError, TypeError):
            pass  # Not all have all the fields.
    return [
        (row[0], *map((row[1] or _NO_FIELDS).get, names), row[1] is None, *row[2:])
        for row in newest
    ]


def _newest_of(rows: Sequence[Row], key_type: ColumnType, key: str) -> list[Row]:
    if set(map(type, map(_ID, rows))) != {_KEYS[key_type]}:
        rows = _with_ids_of(rows, key_type, key)
    try:
        return latest(rows)
    except TypeError:
        for row in rows:
            _require_version(row)
        raise


def _with_ids_of(rows: Sequence[Row], key_type: ColumnType, key: str) -> Sequence[Row]:
    if key_type == "bigint":
        # The key of an event that deletes is often the number as text.
        rows = [
            row._replace(id=int(row.id))
            if row.fields is None and isinstance(row.id, str) and _is_number(row.id)
            else row
            for row in rows
        ]
    ids = [row.id for row in rows]
    if None in ids:
        raise RowError(f"{rows[ids.index(None)]} has no {key!r}, which is the key of the table")
    _column(rows, key, ids, key_type)
    return rows


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text


def _key_type(rows: Sequence[Row]) -> ColumnType:
    """That of rows that set something, if there are any: a key that deletes may be a text."""
    setting = [row for row in rows if row[1] is not None] or list(rows)
    try:
        found = type_for([row[0] for row in setting])
    except MisfitError as misfit:
        raise _row_error(setting[misfit.index], "the key", misfit) from None
    if found not in KEY_TYPES:
        raise RowError(
            f"{setting[0]}: a key is a text or a whole number, and this one is of type "
            f"{type(setting[0].id).__name__}"
        )
    return found


def _column(
    rows: Sequence[Row], name: str, values: Sequence[Any], column_type: ColumnType
) -> Sequence[Any]:
    try:
        return fitted(values, column_type)
    except MisfitError as misfit:
        raise _row_error(rows[misfit.index], name, misfit) from None


def _require_version(row: Row) -> None:
    for name, value in zip(VERSION, row[2:], strict=True):
        if type(value) is not int:
            raise RowError(f"{row} has no {name}, which is a part of its version: {value!r}")


def _require_free(name: Any, row: Row) -> None:
    if not isinstance(name, str) or not name or "\0" in name:
        raise RowError(f"{row}: {name!r} cannot be the name of a column")
    if name in OWN:
        raise RowError(
            f"{row}: the field {name!r} has the name of a column that says where an event came "
            "from: give the field another name before it is written"
        )


def _row_error(row: Row, name: str, misfit: MisfitError) -> RowError:
    return RowError(
        f"{row}: field {name!r}: {misfit}; correct the event, or declare the column with a type "
        "that holds both: nothing of the batch was written"
    )
