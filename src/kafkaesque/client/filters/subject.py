"""One record, asked by many filters: whatever they look at is decoded once, when first asked for.

With a decoder, a value that was written with a schema of a registry (a zero byte, the schema's id,
and the payload) is what the decoder makes of it, and its text is that as JSON. JSON never begins
with a zero byte, so the plain way is tried first, and costs no more than without a decoder.
Above: readers.py, index.py. Below: orjson, records, ../decoder.py.
"""

from typing import Any, Final, Protocol, TypeAlias

import orjson

from kafkaesque.client.decoder import NOT_DECODED
from kafkaesque.records.record import Record

Text: TypeAlias = str | bytes | None

NOT_JSON: Final = object()
_UNREAD: Final = object()


class Documents(Protocol):
    """What a subject needs of a decoder; NOT_DECODED for bytes that it can make nothing of."""

    def document(self, data: bytes) -> Any: ...


class Subject:
    __slots__ = (
        "_decoder",
        "_document",
        "_headers",
        "_key",
        "_text",
        "partition",
        "record",
        "topic",
    )

    def __init__(
        self, topic: str, partition: int, record: Record, decoder: Documents | None = None
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.record = record
        self._decoder = decoder
        self._document: Any = _UNREAD
        self._key: Any = _UNREAD
        self._headers: Any = _UNREAD
        self._text: Any = _UNREAD

    def document(self) -> Any:
        """The value as JSON; NOT_JSON if it is not; None for a null value."""
        if self._document is _UNREAD:
            data = self.record.value
            try:
                self._document = None if data is None else orjson.loads(data)
            except ValueError:
                self._document = self._decoded()
        return self._document

    def key(self) -> Text:
        """The key as text, its bytes if it is not UTF-8, or None."""
        if self._key is _UNREAD:
            self._key = _text(self.record.key)
        return self._key  # type: ignore[no-any-return]

    def headers(self) -> dict[str, Text]:
        """The last value of each name, as text, or bytes if it is not UTF-8."""
        if self._headers is _UNREAD:
            self._headers = {name: _text(data) for name, data in self.record.headers}
        return self._headers  # type: ignore[no-any-return]

    def text(self) -> Text:
        """The value as text, its bytes if it is not UTF-8, or None."""
        if self._text is _UNREAD:
            if self._is_framed() and self.document() is not NOT_JSON:
                self._text = orjson.dumps(self.document()).decode()
            else:
                self._text = _text(self.record.value)
        return self._text  # type: ignore[no-any-return]

    def content(self) -> Text:
        """The value as text, a JSON string without its quotes."""
        data = self.record.value
        # Only a quote, or space before one, can begin a JSON string; a zero byte what is decoded.
        if data and data[0] in b'" \t\r\n\0' and type(self.document()) is str:
            return self.document()  # type: ignore[no-any-return]
        return self.text()

    def _is_framed(self) -> bool:
        data = self.record.value
        return self._decoder is not None and data is not None and data[:1] == b"\0"

    def _decoded(self) -> Any:
        """Of a value that is no JSON."""
        if self._decoder is None or not self._is_framed():
            return NOT_JSON
        assert self.record.value is not None
        document = self._decoder.document(self.record.value)
        return NOT_JSON if document is NOT_DECODED else document


def _text(data: bytes | None) -> Text:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
