"""The text of a filter, cut into tokens.

    number   as in JSON, and read as JSON numbers of records are: 1, -2.5, 1e6
    string   "…" or '…' with the escapes \\" \\' \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX
    word     a name or a keyword
    mark     == != <= >= < > ( ) [ ] , .

Above: grammar.py.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from kafkaesque.client.filters.errors import FilterError, quoted

MAX_TEXT = 16_384

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>-?[0-9](?:[eE][+-]|[\w.])*)
    | (?P<word>[^\W\d]\w*)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<mark>==|!=|<=|>=|[<>()\[\],.])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"} | {c: c for c in "\"'\\/"}
_CONTROL = re.compile(r"[\x00-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")

# What people write who come from other languages.
_FOREIGN = {
    "=": "write == to compare",
    "!": "write not, or != to compare",
    "&": "write and",
    "|": "write or",
    "-": 'a name with a dash is written in brackets: value["order-id"]; there is no arithmetic',
    "*": "there is no arithmetic, and there are no wildcards: startswith, endswith and contains"
    " look into text",
    "{": "lists are written in parentheses: in (1, 2)",
    "$": "the value of the record is written value",
}


class Token(NamedTuple):
    kind: str
    text: str
    value: str | int | float
    position: int


def tokens(text: str) -> Iterator[Token]:
    """One after another, as the grammar asks for them; the last is of kind `end`."""
    if len(text) > MAX_TEXT:
        raise FilterError(
            f"a filter has at most {MAX_TEXT} characters, this one {len(text)}", MAX_TEXT
        )
    lone = _SURROGATE.search(text)
    if lone is not None:
        raise FilterError("half of a surrogate pair is not a character", lone.start())
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unknown(text, at)
        kind = str(match.lastgroup)
        if kind != "space":
            yield Token(kind, match[0], _meaning(kind, match[0], at), at)
        at = match.end()
    yield Token("end", "the end", "", len(text))


def _meaning(kind: str, text: str, at: int) -> str | int | float:
    if kind == "number":
        return _number(text, at)
    if kind == "string":
        return _string(text, at)
    return text


def _number(text: str, at: int) -> int | float:
    try:
        number: int | float = orjson.loads(text)
    except ValueError:
        raise FilterError(
            f"{quoted(text)} is not a number: write it as in JSON, like 12, -0.5 or 1e6", at
        ) from None
    return number


def _string(text: str, at: int) -> str:
    control = _CONTROL.search(text)
    if control is not None:
        raise FilterError(
            "a control character inside a string: write it as an escape, like \\n or \\u0000",
            at + control.start(),
        )
    body = text[1:-1]
    if "\\" not in body:
        return body

    def character(escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        if code not in _ESCAPES:
            raise FilterError(
                f"\\{code} is no escape: write \\\\ for a backslash, \\uXXXX for a character",
                at + 1 + escape.start(),
            )
        return _ESCAPES[code]

    plain = _ESCAPE.sub(character, body)
    if _SURROGATE.search(plain) is None:
        return plain
    try:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise FilterError("a string with half of a surrogate pair: write both halves", at) from None


def _unknown(text: str, at: int) -> FilterError:
    character = text[at]
    if character in "\"'":
        return FilterError(f"this string never ends: close it with {character}", at)
    cure = _FOREIGN.get(character)
    return FilterError(f"unexpected {character!r}" + (f": {cure}" if cure else ""), at)
