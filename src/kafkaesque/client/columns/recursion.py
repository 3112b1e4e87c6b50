"""The place where a type holds itself. Arrow has no such types: what lies below is JSON, as text.

Each value there is walked alone, first to see that it is sound and not too deep, and where it ends;
then fastavro decodes it. As everywhere where values become JSON: bytes are base64, decimals, UUIDs
and moments are text, numbers that are none are null.
Above: compile.py. Below: node.py, fastavro.
"""

import base64
import datetime as dt
import io
from typing import Any

import fastavro
import numpy as np
import orjson
import pyarrow as pa

from kafkaesque.client.columns.cursor import Cursor
from kafkaesque.client.columns.errors import Fault, RefusedError
from kafkaesque.client.columns.node import Node

MAX_DEPTH = 200
"""Types one within the other, unions, arrays and maps counted too: as deep as orjson goes."""


class Recursion:
    """Stands for the record named `name`, inside it. `node` is set when that is compiled."""

    width: int | None = None
    type = pa.json_(pa.string())
    node: Node

    def __init__(self, name: str, named: dict[str, Any]) -> None:
        self._schema = fastavro.parse_schema(named[name], named_schemas=dict(named))
        # A record that holds nothing but an array of itself has at least that array's end.
        self.least = 1

    def read(self, cursor: Cursor) -> pa.Array:
        data = cursor.text.as_bytes()
        texts: list[str] = []
        for row, (at, stop) in enumerate(
            zip(cursor.at.tolist(), cursor.stop.tolist(), strict=True)
        ):
            try:
                end = self.walk(data, at, stop, 0)
                texts.append(self._json(data[at:end]))
                cursor.at[row] = end
            except RefusedError as error:
                cursor.fail(np.arange(len(cursor)) == row, error.fault)
                texts.append("null")
        return pa.ExtensionArray.from_storage(self.type, pa.array(texts, pa.string()))

    def _json(self, data: bytes) -> str:
        try:
            value = fastavro.schemaless_reader(io.BytesIO(data), self._schema, None)
            return orjson.dumps(value, default=_plain).decode()
        except (ValueError, ArithmeticError, LookupError, TypeError, EOFError):
            raise RefusedError(Fault.RESOLUTION) from None

    def skip(self, cursor: Cursor) -> None:
        data = cursor.text.as_bytes()
        for row, (at, stop) in enumerate(
            zip(cursor.at.tolist(), cursor.stop.tolist(), strict=True)
        ):
            try:
                cursor.at[row] = self.walk(data, at, stop, 0)
            except RefusedError as error:
                cursor.fail(np.arange(len(cursor)) == row, error.fault)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise RefusedError(Fault.DEPTH)
        return self.node.walk(data, at, stop, depth + 1)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return str(value)
