"""A batch of rows against the columns of a table: what the table lacks, and the rows to write.

Columns are sought in all rows of the batch, also in those that a newer one replaces: so the table
gets the same columns however events are cut into batches. Values are looked at only in the rows
that are left. Pure. Above: table.py. Below: columns.py, rows.py, statements.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kafkaesque.pipelines.tables.columns import ColumnType, MisfitError, fitted, type_for
from kafkaesque.pipelines.tables.errors import RowError
from kafkaesque.pipelines.tables.rows import VERSION, Row, latest
from kafkaesque.pipelines.tables.statements import OWN

_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Batch:
    """One list of values for each column, all of the same length: a row for each id."""

    names: Sequence[str]
    types: Sequence[ColumnType]
    columns: Sequence[list[Any]]

    def __len__(self) -> int:
        return len(self.columns[0])


def lacking(
    rows: Sequence[Row], known: Mapping[str, ColumnType], key: str
) -> dict[str, ColumnType]:
    """The columns that the rows need and that are not known, the key among them."""
    names: set[str] = set()
    for row in rows:
        if row.fields is not None:
            names.update(row.fields)
    needed: dict[str, ColumnType] = {}
    if key not in known:
        needed[key] = _key_type(rows)
    for name in sorted(names - (known.keys() - OWN.keys()) - {key}, key=str):
        _require_free(name, next(row for row in rows if row.fields and name in row.fields))
        values = [row.fields.get(name) if row.fields else None for row in rows]
        try:
            column_type = type_for(values)
        except MisfitError as misfit:
            raise _row_error(rows[misfit.index], name, misfit) from None
        if column_type is not None:
            needed[name] = column_type
    return needed


def batch_of(rows: Sequence[Row], known: Mapping[str, ColumnType], key: str) -> Batch:
    """The rows as columns of the known types, the newest of each id alone."""
    newest = latest(_with_ids_of(rows, known[key], key))
    fields = [_NO_FIELDS if row.fields is None else row.fields for row in newest]
    names = [name for name in known if name not in OWN and name != key]
    columns = [[row.id for row in newest]]
    for name in names:
        try:
            columns.append(fitted([each.get(name) for each in fields], known[name]))
        except MisfitError as misfit:
            raise _row_error(newest[misfit.index], name, misfit) from None
    columns.append([row.fields is None for row in newest])
    for own, values in zip(VERSION, zip(*(row[2:] for row in newest), strict=True), strict=True):
        columns.append(_version_column(newest, own, list(values)))
    every = [key, *names, *OWN]
    return Batch(every, [known[name] for name in every], columns)


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
    try:
        fitted(ids, key_type)
    except MisfitError as misfit:
        raise _row_error(rows[misfit.index], key, misfit) from None
    return rows


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text


def _key_type(rows: Sequence[Row]) -> ColumnType:
    """That of rows that set something, if there are any: a key that deletes may be a text."""
    setting = [row for row in rows if row.fields is not None] or list(rows)
    try:
        found = type_for([row.id for row in setting])
    except MisfitError as misfit:
        raise _row_error(setting[misfit.index], "the key", misfit) from None
    if found not in ("text", "bigint"):
        raise RowError(
            f"{setting[0]}: a key is a text or a whole number, and this one is of type "
            f"{type(setting[0].id).__name__}"
        )
    return found


def _version_column(rows: Sequence[Row], name: str, values: list[Any]) -> list[Any]:
    if None in values:
        raise RowError(f"{rows[values.index(None)]} has no {name}, which is a part of its version")
    try:
        return fitted(values, "bigint")
    except MisfitError as misfit:
        raise _row_error(rows[misfit.index], name, misfit) from None


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
