"""Values of a writer's schema, written anew by that of the reader: what Avro calls resolution.

fastavro reads each value by both schemas and writes it by the reader's alone; the columns are then
made of these bytes as of any others. Every value is walked before: fastavro trusts what it reads,
and a count of items or a depth that nobody wrote would keep it for ever.
Above: avro.py. Below: node.py, fastavro.
"""

import io
from typing import Any

import fastavro
import numpy as np
from fastavro.read import SchemaResolutionError

from kafkaesque.client.columns.cursor import Longs, Text
from kafkaesque.client.columns.errors import Fault, RefusedError
from kafkaesque.client.columns.node import Node

_FAILURES = (
    SchemaResolutionError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    EOFError,
    AttributeError,
)


class Resolver:
    def __init__(self, node: Node, writer: Any, reader: Any) -> None:
        self._node = node
        self._writer = writer
        self._reader = reader

    def resolved(self, text: Text, start: Longs, stop: Longs) -> tuple[Text, Longs, Longs]:
        data = text.as_bytes()
        faults = np.zeros(len(start), np.uint8)
        written = io.BytesIO()
        edges = [0]
        for row, (at, end) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
            try:
                self._node.walk(data, at, end, 0)
                written.write(self._anew(data[at:end]))
            except RefusedError as error:
                faults[row] = error.fault
            edges.append(written.tell())
        found = Text(np.frombuffer(written.getvalue(), np.uint8), len(start))
        found.faults = faults
        places = np.array(edges, np.int64)
        return found, places[:-1], places[1:]

    def _anew(self, data: bytes) -> bytes:
        anew = io.BytesIO()
        try:
            value = fastavro.schemaless_reader(
                io.BytesIO(data), self._writer, self._reader, return_named_type=True
            )
            fastavro.schemaless_writer(anew, self._reader, value)
        except _FAILURES:
            raise RefusedError(Fault.RESOLUTION) from None
        return anew.getvalue()
