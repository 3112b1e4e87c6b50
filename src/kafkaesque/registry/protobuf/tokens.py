"""The words of a .proto text, and a cursor over them.

A token is (kind, text, offset): NAME, INTEGER, FLOAT, STRING (with its quotes), SYMBOL or END.
Comments and white space are skipped. Line and column are counted only when an error asks for them.
One fixed pattern without nested repetition walks the text: time grows with its length alone.

Above: grammar.py and its parts. Below: nothing.
"""

import re
from typing import NamedTuple, NoReturn

from kafkaesque.registry.schema_text import InvalidSchemaError

NAME, INTEGER, FLOAT, STRING, SYMBOL, END = "name", "integer", "float", "string", "symbol", "end"

_PATTERN = re.compile(
    r"(?P<blank>[ \t\r\n\f\v]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<float>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<integer>0[xX][0-9a-fA-F]+|[0-9]+)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\[^\n])*+\"|'(?:[^'\\\n]|\\[^\n])*+')"
    r"|(?P<symbol>[-+{}()\[\]<>=;,.:]|/(?![/*]))"
)
_LONGEST_NUMBER = 200
_LONGEST_NAME = 255
_ESCAPE = re.compile(
    rb"\\(?:([abfnrtv\\'\"?])|([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})"
    rb"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))",
    re.DOTALL,
)
_SIMPLE_ESCAPES = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))


class Token(NamedTuple):
    kind: str
    text: str
    offset: int


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    offset = 1 if text.startswith("\ufeff") else 0
    match = _PATTERN.match
    while offset < len(text):
        hit = match(text, offset)
        if hit is None:
            _refuse_rest(text, offset)
        kind = hit.lastgroup
        assert kind is not None
        end = hit.end()
        if kind != "blank":
            if kind in (INTEGER, FLOAT):
                _check_number(text, offset, end)
            found.append(Token(kind, hit.group(), offset))
        offset = end
    found.append(Token(END, "", offset))
    return found


def _check_number(text: str, offset: int, end: int) -> None:
    if end - offset > _LONGEST_NUMBER:
        refuse(text, offset, "a number is too long")
    if end < len(text) and (text[end].isalnum() or text[end] == "_"):
        refuse(text, end, f'white space is missing after the number "{text[offset:end]}"')


def _refuse_rest(text: str, offset: int) -> NoReturn:
    if text[offset] in "\"'":
        refuse(text, offset, "a string is not closed on its line")
    if text.startswith("/*", offset):
        refuse(text, offset, "a comment is not closed: */ is missing")
    refuse(text, offset, f"{text[offset]!r} is no part of a .proto text")


def place(text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - text.rfind(chr(10), 0, offset)}"


def refuse(text: str, offset: int, message: str) -> NoReturn:
    raise InvalidSchemaError(f"{message} ({place(text, offset)})")


def unquoted(literal: str) -> bytes:
    """What a quoted literal stands for. Raises ValueError for an escape that does not exist."""
    return _ESCAPE.sub(_unescaped, literal[1:-1].encode())


def _unescaped(hit: re.Match[bytes]) -> bytes:
    simple, octal, hexadecimal, short, long, other = hit.groups()
    if simple is not None:
        return bytes((_SIMPLE_ESCAPES[simple[0]],))
    if octal is not None and int(octal, 8) < 256:
        return bytes((int(octal, 8),))
    if hexadecimal is not None:
        return bytes((int(hexadecimal, 16),))
    if short is not None or long is not None:
        code = int(short or long, 16)
        if code < 0x110000 and not 0xD800 <= code < 0xE000:
            return chr(code).encode()
        other = hit.group()[1:]
    raise ValueError(f"\\{(octal or other).decode(errors='replace')} is no escape")


def quoted(value: bytes) -> str:
    """A literal that stands for these bytes; text stays readable, all else is octal."""
    try:
        parts = [char.encode() for char in value.decode()]
    except UnicodeDecodeError:
        parts = [bytes((byte,)) for byte in value]
    return '"' + "".join(map(_escaped, parts)) + '"'


def _escaped(part: bytes) -> str:
    if part in _ESCAPED:
        return _ESCAPED[part]
    if part < b"\x80" or len(part) > 1:
        text = part.decode()
        if text.isprintable():
            return text
    return "".join(f"\\{byte:03o}" for byte in part)


_ESCAPED = {b"\\": "\\\\", b'"': '\\"', b"\n": "\\n", b"\r": "\\r", b"\t": "\\t"}


class Cursor:
    """The tokens of one text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens(text)
        self._at = 0
        self.token = self._tokens[0]

    def next(self) -> Token:
        taken = self.token
        if taken.kind != END:
            self._at += 1
            self.token = self._tokens[self._at]
        return taken

    def ahead(self, text: str) -> bool:
        """Is the token after this one `text`?"""
        return self.token.kind != END and self._tokens[self._at + 1].text == text

    def at(self, text: str) -> bool:
        return self.token.text == text

    def accept(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self.next()
        return True

    def expect(self, text: str, after: str) -> Token:
        if self.token.text != text:
            self.refuse(f'"{text}" is missing after {after}: found {self.found()}')
        return self.next()

    def name(self, what: str) -> Token:
        if self.token.kind != NAME:
            self.refuse(f"{what} is missing: found {self.found()}")
        if len(self.token.text) > _LONGEST_NAME:
            self.refuse(f"a name is longer than {_LONGEST_NAME} characters")
        return self.next()

    def dotted_name(self, what: str, *, leading_dot: bool = False) -> Token:
        first = self.token
        dot = "." if leading_dot and self.accept(".") else ""
        parts = [self.name(what).text]
        while self.accept("."):
            parts.append(self.name(what).text)
        return Token(NAME, dot + ".".join(parts), first.offset)

    def integer(self, what: str) -> int:
        if self.token.kind != INTEGER:
            self.refuse(f"{what} is missing: found {self.found()}")
        token = self.next()
        return self.whole(token)

    def whole(self, token: Token) -> int:
        text = token.text
        if len(text) > 1 and text[0] == "0" and text[1] not in "xX":
            if text.strip("01234567"):
                self.refuse(f'"{text}" is no octal number', token)
            return int(text, 8)
        return int(text, 0)

    def string(self, what: str) -> bytes:
        if self.token.kind != STRING:
            self.refuse(f"{what} is missing: found {self.found()}")
        parts = []
        while self.token.kind == STRING:
            try:
                parts.append(unquoted(self.token.text))
            except ValueError as bad:
                self.refuse(str(bad))
            self.next()
        return b"".join(parts)

    def text_string(self, what: str) -> str:
        token = self.token
        try:
            return self.string(what).decode()
        except UnicodeDecodeError:
            self.refuse(f"{what} is not valid UTF-8", token)

    def found(self) -> str:
        return "the end" if self.token.kind == END else f'"{self.token.text[:60]}"'

    def refuse(self, message: str, token: Token | None = None) -> NoReturn:
        refuse(self.text, (token or self.token).offset, message)
