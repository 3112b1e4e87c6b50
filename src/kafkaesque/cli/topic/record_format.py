r"""The language of `-f`: a format is text with escapes, as rpk's, and becomes a row of pieces.

    %t topic   %k key   %v value   %T %K %V their lengths in bytes   %p partition   %o offset
    %d timestamp in ms, %d{strftime[%F %T]} in UTC   %h headers, %h{%k=%v\n} each   %H their number
    %i number of the record, from 1   %% %{ %}   \n \t \r \\ \xNN
    %v{hex} and %v{base64}: the bytes of a text so

record_print.py writes a record by a format, record_input.py reads one. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

TEXTS = "tkv"
LENGTHS = {"T": "t", "K": "k", "V": "v"}
RECORD_LETTERS = "tkvTKVpodhHi"
HEADER_LETTERS = "kvKV"

_TOKEN = re.compile(r"%(?P<letter>.)|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<escape>.)|[^%\\]+", re.DOTALL)
_CHARACTERS = {"n": b"\n", "t": b"\t", "r": b"\r", "\\": b"\\"}
_STRFTIME = re.compile(r"strftime\[(.*)\]", re.DOTALL)


class FormatError(ValueError):
    """A format that cannot be understood; the message says where."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: bytes


@dataclass(frozen=True, slots=True)
class Field:
    """`%v{hex}`: letter v, modifier hex. `inner` is what stands in the braces of %h."""

    letter: str
    modifier: str | None = None
    inner: tuple["Piece", ...] = ()


Piece: TypeAlias = Literal | Field


def parse_format(text: str, letters: str = RECORD_LETTERS, start: int = 1) -> tuple[Piece, ...]:
    """Raises FormatError; its positions count from `start`."""
    pieces: list[Piece] = []
    for piece in _pieces(text, letters, start):
        if isinstance(piece, Literal) and pieces and isinstance(pieces[-1], Literal):
            pieces[-1] = Literal(pieces[-1].text + piece.text)
        else:
            pieces.append(piece)
    return tuple(pieces)


def strftime_of(modifier: str) -> str | None:
    found = _STRFTIME.fullmatch(modifier)
    return found[1] if found else None


def _pieces(text: str, letters: str, start: int) -> Iterator[Piece]:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise FormatError(f"{text[at]!r} at position {at + start}: what follows it is missing")
        end = token.end()
        if token["letter"] is None:
            yield Literal(_characters(token, at + start))
        elif token["letter"] in "%{}":
            yield Literal(token["letter"].encode())
        else:
            modifier, end = _modifier(text, end, start)
            yield _field(token["letter"], modifier, letters, at + start)
        at = end


def _characters(token: re.Match[str], position: int) -> bytes:
    if token["hex"]:
        return bytes.fromhex(token["hex"])
    if token["escape"] is None:
        return token[0].encode()
    if token["escape"] not in _CHARACTERS:
        raise FormatError(
            f"unknown {token[0]!r} at position {position}: write \\\\ for a backslash"
        )
    return _CHARACTERS[token["escape"]]


def _modifier(text: str, at: int, start: int) -> tuple[str | None, int]:
    """What stands in braces, and where it ends; %{ and %} in it are no braces."""
    if text[at : at + 1] != "{":
        return None, at
    depth, index = 0, at
    while index < len(text):
        if text[index] == "%":
            index += 1
        elif text[index] in "{}":
            depth += 1 if text[index] == "{" else -1
            if depth == 0:
                return text[at + 1 : index], index + 1
        index += 1
    raise FormatError(f"the '{{' at position {at + start} is not closed")


def _field(letter: str, modifier: str | None, letters: str, position: int) -> Field:
    if letter not in letters:
        known = ", ".join(f"%{known}" for known in letters)
        raise FormatError(f"unknown '%{letter}' at position {position}: there are {known}")
    if letter == "h" and modifier is not None:
        return Field(letter, modifier, parse_format(modifier, HEADER_LETTERS, position + 3))
    if modifier is not None and not _may_have(letter, modifier):
        raise FormatError(f"'%{letter}{{{modifier}}}' at position {position}: {_may(letter)}")
    return Field(letter, modifier)


def _may_have(letter: str, modifier: str) -> bool:
    if letter in TEXTS:
        return modifier in ("hex", "base64")
    return letter == "d" and strftime_of(modifier) is not None


def _may(letter: str) -> str:
    if letter in TEXTS:
        return "braces may hold hex or base64"
    return "braces may hold strftime[…]" if letter == "d" else "it takes no braces"
