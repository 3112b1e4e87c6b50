r"""Records from standard input, by a format of record_format.py: the way back of record_print.py.

A text ends where the next literal begins (`%k %v\n`), or has the length that came before it
(`%K %V %k%v`). The format is matched again and again until the input ends; the end of the input
stands for a literal that ends the format. An empty key is none. `%p` and `%d` choose partition and
time; what only the cluster can know (`%o`, `%i`) cannot be read. Pure but for the stream it reads.
Above: produce.py.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kafkaesque.cli.topic.record_format import LENGTHS, TEXTS, Field, FormatError, Literal, Piece
from kafkaesque.client.record import Headers, Record

_CHUNK_BYTES = 1 << 16
_DIGITS = b"0123456789"


class Input(Protocol):
    def read1(self, size: int, /) -> bytes:
        """What is there, or comes next; nothing at the end."""


class InputError(Exception):
    """The input is not what the format says; the message names the record."""


def require_readable(pieces: Sequence[Piece]) -> None:
    """Raises FormatError if one could not tell where a text ends."""
    sized: set[str] = set()
    if not any(isinstance(piece, Field) for piece in pieces):
        raise FormatError("it reads nothing: put %v into it")
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        if isinstance(piece, Literal):
            continue
        if piece.letter in "oi" or (piece.modifier and piece.modifier.startswith("strftime")):
            raise FormatError(f"%{piece.letter} can be printed so, not read")
        if piece.letter == "h":
            _require_readable_headers(piece, sized)
        elif piece.letter in TEXTS and piece.letter not in sized and isinstance(after, Field):
            raise FormatError(
                f"where does %{piece.letter} end? Put a text between it and %{after.letter}, "
                f"or its length, %{piece.letter.upper()}, before it"
            )
        sized.add(LENGTHS.get(piece.letter, piece.letter if piece.letter == "H" else ""))


def records(
    stream: Input,
    pieces: Sequence[Piece],
    template: Record,
    before_reading: Callable[[], None] = lambda: None,
) -> Iterator[Record]:
    """`template` gives what the format does not read. `before_reading` is called each time more of
    the input is wanted, which may take long to come. Raises InputError.
    """
    source = _Source(stream, before_reading)
    while not source.is_at_end():
        source.number += 1
        yield _record(source, pieces, template)


def _require_readable_headers(headers: Field, sized: set[str]) -> None:
    if headers.modifier is None or "H" not in sized:
        raise FormatError("to read headers, write their number and each of them: %H %h{%k=%v,}")
    require_readable(headers.inner)
    last = headers.inner[-1]
    if isinstance(last, Field) and last.letter.upper() not in _letters(headers.inner):
        raise FormatError(f"where does %{last.letter} end? Put a text after it, as in %h{{%k=%v,}}")


def _letters(pieces: Sequence[Piece]) -> set[str]:
    return {piece.letter for piece in pieces if isinstance(piece, Field)}


@dataclass(slots=True)
class _Found:
    """What has been read of a record so far, by letter."""

    texts: dict[str, bytes] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    headers: Headers = ()


def _record(source: "_Source", pieces: Sequence[Piece], template: Record) -> Record:
    found = _read(source, pieces, may_end=True)
    record = template
    if "t" in found.texts:
        record = replace(record, topic=found.texts["t"].decode())
    if "k" in found.texts:
        record = replace(record, key=found.texts["k"] or None)
    return replace(
        record,
        value=found.texts.get("v", record.value),
        partition=found.numbers.get("p", record.partition),
        timestamp_ms=found.numbers.get("d", record.timestamp_ms),
        headers=record.headers + found.headers,
    )


def _read(source: "_Source", pieces: Sequence[Piece], *, may_end: bool = False) -> _Found:
    found = _Found()
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        if isinstance(piece, Literal):
            source.skip(piece.text, may_end=may_end and after is None)
        elif piece.letter in TEXTS:
            found.texts[piece.letter] = _text(source, piece, after, found)
        elif piece.letter == "h":
            found.headers = tuple(
                _header(source, piece.inner) for _ in range(found.numbers.get("H", 0))
            )
        else:
            found.numbers[piece.letter] = source.digits(piece.letter)
    return found


def _text(source: "_Source", piece: Field, after: Piece | None, found: _Found) -> bytes:
    length = found.numbers.get(piece.letter.upper())
    if length is not None:
        data = source.exactly(length)
    else:
        data = source.until(after.text if isinstance(after, Literal) else None)
    if piece.modifier is None:
        return data
    try:
        return (
            bytes.fromhex(data.decode())
            if piece.modifier == "hex"
            else base64.b64decode(data, validate=True)
        )
    except (binascii.Error, ValueError):
        raise source.error(f"%{piece.letter} is not {piece.modifier}") from None


def _header(source: "_Source", pieces: Sequence[Piece]) -> tuple[str, bytes | None]:
    found = _read(source, pieces)
    return found.texts.get("k", b"").decode(errors="replace"), found.texts.get("v")


class _Source:
    """The input, read as it comes: a record is there as soon as its last byte is."""

    def __init__(self, stream: Input, before_reading: Callable[[], None]) -> None:
        self.number = 0
        self._stream = stream
        self._before_reading = before_reading
        self._buffer = bytearray()

    def is_at_end(self) -> bool:
        return not self._buffer and not self._more()

    def exactly(self, length: int) -> bytes:
        while len(self._buffer) < length:
            if not self._more():
                raise self.error("the input ends in the middle of it")
        return self._take(length)

    def until(self, delimiter: bytes | None) -> bytes:
        """Up to the delimiter, which stays, or to the end of the input."""
        searched = 0
        while delimiter is None or (end := self._buffer.find(delimiter, searched)) < 0:
            searched = max(0, len(self._buffer) - len(delimiter or b"") + 1)
            if not self._more():
                return self._take(len(self._buffer))
        return self._take(end)

    def skip(self, text: bytes, *, may_end: bool) -> None:
        while len(self._buffer) < len(text) and self._more():
            pass
        if may_end and not self._buffer:
            return
        if not self._buffer.startswith(text):
            raise self.error(f"expected {text.decode(errors='replace')!r}")
        self._take(len(text))

    def digits(self, letter: str) -> int:
        length = 0
        while length < len(self._buffer) or self._more():
            if self._buffer[length] not in _DIGITS:
                break
            length += 1
        if not 0 < length < 20:
            raise self.error(f"%{letter} is not a number")
        return int(self._take(length))

    def error(self, reason: str) -> InputError:
        return InputError(
            f"record {self.number} of the input does not match --format: {reason}; "
            "the records before it are sent"
        )

    def _more(self) -> bool:
        self._before_reading()
        chunk = self._stream.read1(_CHUNK_BYTES)
        self._buffer += chunk
        return bool(chunk)

    def _take(self, length: int) -> bytes:
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data
