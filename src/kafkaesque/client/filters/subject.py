"""One record, asked by many filters: whatever they look at is decoded once, when first asked for.

Above: readers.py, index.py. Below: orjson, records.
"""

from typing import Any, Final, TypeAlias

import orjson

from kafkaesque.records.record import Record

Text: TypeAlias = str | bytes | None

NOT_JSON: Final = object()
_UNREAD: Final = object()


class Subject:
    __slots__ = ("_document", "_headers", "_key", "_text", "partition", "record", "topic")

    def __init__(self, topic: str, partition: int, record: Record) -> None:
        self.topic = topic
        self.partition = partition
        self.record = record
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
                self._document = NOT_JSON
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
            self._text = _text(self.record.value)
        return self._text  # type: ignore[no-any-return]

    def content(self) -> Text:
        """The value as text, a JSON string without its quotes."""
        data = self.record.value
        # Only a quote, or space before one, can begin a JSON string.
        if data and data[0] in b'" \t\r\n' and type(self.document()) is str:
            return self.document()  # type: ignore[no-any-return]
        return self.text()


def _text(data: bytes | None) -> Text:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
