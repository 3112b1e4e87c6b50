"""Which records of what was fetched match a filter: by columns where that can be, else one by one.

With pyarrow installed, a fetch of many records becomes columns (columns/). Values of one Avro
schema, or plain JSON objects, become columns too, and the filter looks at all of them at once
(filters/columnar.py). Whatever that cannot tell exactly, small fetches, and values of several
schemas are asked record by record: the outcome is the same.
Above: cli/topic/search.py, gateway/events/reading.py. Below: fetched.py, decoder.py, filters/;
columns/, imported on use.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from kafkaesque.client.decoder import Decoder
from kafkaesque.client.fetched import Fetched
from kafkaesque.client.filters import Predicate, Subject
from kafkaesque.records.record import Record

if TYPE_CHECKING:
    from kafkaesque.client.columns import AvroDecoder
    from kafkaesque.client.registry import RegistryClient

WORTH_RECORDS: Final = 64
"""Fewer are faster one by one."""
_MOST_DECODERS: Final = 100
_FRAME_BYTES: Final = 5


class Matcher:
    """`registry` is where the decoder's schemas are from; `learn` is shown values before they are
    looked at. `columnar` counts records that columns have told of."""

    def __init__(
        self,
        predicate: Predicate,
        decoder: Decoder | None = None,
        registry: "RegistryClient | None" = None,
        learn: Callable[[Iterable[bytes | None]], None] | None = None,
    ) -> None:
        self._predicate = predicate
        self._decoder = decoder
        self._registry = registry
        self._learn = learn or (lambda _values: None)
        self._has_columns = all(map(find_spec, ("pyarrow", "numpy", "fastavro")))
        self._avro: dict[int, AvroDecoder | None] = {}
        self.columnar = 0

    def matching(self, fetched: Fetched) -> tuple[int, Sequence[Record]]:
        """How many records there are, and those that match, in their order."""
        found = self.by_columns(fetched) if self.is_worth_columns(fetched) else None
        if found is not None:
            return found
        records = list(fetched.records())
        if self._predicate.reads_value:
            self._learn(record.value for record in records)
        return len(records), [each for each in records if self._matches(fetched, each)]

    def is_worth_columns(self, fetched: Fetched, least: int = WORTH_RECORDS) -> bool:
        """Are there columns, and records enough?"""
        return self._has_columns and sum(header.count for _, header in fetched.batches) >= least

    def by_columns(self, fetched: Fetched) -> tuple[int, Sequence[Record]] | None:
        """As `matching`, or None if columns cannot tell."""
        found = self._by_columns(fetched)
        if found is not None:
            self.columnar += found[0]
        return found

    def _matches(self, fetched: Fetched, record: Record) -> bool:
        return self._predicate.matches(Subject(*fetched.place, record, self._decoder))

    def _by_columns(self, fetched: Fetched) -> tuple[int, Sequence[Record]] | None:
        import pyarrow as pa

        from kafkaesque.client.columns import columns_of
        from kafkaesque.client.filters.columnar import Columns, mask

        records = columns_of(fetched)
        document = None
        if self._predicate.reads_value:
            document = self._document(records.column("value"))
            if document is None:
                return None
        found = mask(self._predicate, Columns(*fetched.place, records, document))
        if found is None:
            return None
        return records.num_rows, _records(records.filter(pa.array(found)))

    def _document(self, values: Any) -> Any:
        """The values as rows, if they are of one schema, or none of any."""
        import pyarrow.compute as pc

        from kafkaesque.client.columns import json_decoder

        heads = pc.unique(pc.drop_null(pc.binary_slice(values, 0, _FRAME_BYTES))).to_pylist()
        self._learn(heads)
        if not any(head[:1] == b"\0" for head in heads):
            return json_decoder().read(values)
        decoder = self._avro_decoder(heads[0]) if len(heads) == 1 else None
        return None if decoder is None else decoder.read(values, skip=_FRAME_BYTES)

    def _avro_decoder(self, head: bytes) -> "AvroDecoder | None":
        from kafkaesque.client.columns import SchemaError, avro_decoder

        if self._decoder is None or self._registry is None:
            return None
        number = self._decoder.schema_id(head)
        if number is None or self._decoder.missing((head,)):
            return None
        if number not in self._avro:
            if len(self._avro) >= _MOST_DECODERS:
                self._avro.clear()
            schema = self._known(number)
            try:
                is_plain = schema is not None and schema.type == "AVRO" and not schema.references
                self._avro[number] = avro_decoder(schema.text) if schema and is_plain else None
            except SchemaError:
                self._avro[number] = None
        return self._avro[number]

    def _known(self, number: int) -> Any:
        """The registry's client remembers what the decoder has learnt."""
        from kafkaesque.client.registry import RegistryError

        assert self._registry is not None
        try:
            return self._registry.schema(number)
        except RegistryError:
            return None


def _records(columns: Any) -> list[Record]:
    rows: Iterable[dict[str, Any]] = columns.to_pylist()
    return [
        Record(
            row["offset"],
            row["timestamp"],
            row["key"],
            row["value"],
            tuple((each["name"], each["value"]) for each in row["headers"]),
        )
        for row in rows
    ]
