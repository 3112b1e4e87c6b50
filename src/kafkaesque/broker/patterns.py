r"""Regular expressions that match in linear time: a part of RE2's syntax, which Kafka uses.

Python's own engine backtracks: `a?a?a?…aaa…` in a request of a hundred bytes would stop the broker.
Here all ways through the pattern are walked at once, character by character (Thompson, 1968), so a
text of n characters costs at most n times the size of the pattern, and that is bounded.

    abc  .  [a-z] [^…]  \d \D \s \S \w \W  \. \n \t \x41 \x{41}  ^ $ \A \z  (…) (?:…) a|b
    * + ?  {m} {m,} {m,n}, m and n up to 1000, each with a ? after it that changes nothing here

A pattern matches a text as a whole. As in RE2 a `.` is anything but a newline, `$` is the end of
the text alone, \d, \s and \w are about ASCII, and a `{` that begins no repetition is itself. All
else is refused: flags, names of groups, \b, \pN, \Q…\E, [:alpha:], octal escapes.
Pure. Above: apis/list_transactions.py.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

MAX_LENGTH = 1_000
"""Characters of a pattern."""
MAX_SIZE = 2_000
"""Steps that a pattern may consist of when its repetitions are written out."""
MAX_REPEAT = 1_000
MAX_DEPTH = 50
_STEPS_PER_TURN = 20_000

Test: TypeAlias = Callable[[str], bool]
Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""First and last number of characters."""


class PatternError(ValueError):
    """Not a regular expression, or not one of those that are understood here."""


@dataclass(slots=True, eq=False)
class _Node:
    """One step. With a test it takes a character; an edge is taken before the first one alone, or
    after the last; without any of it, it is a fork.
    """

    test: Test | None = None
    edge: str = ""
    next: list["_Node"] = field(default_factory=list)
    mark: int = -1
    """The number of the walk that has been here: so each is visited once per character."""


class Pattern:
    """A compiled pattern."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise PatternError(f"longer than {MAX_LENGTH} characters")
        program = _Program()
        self._start = program.build(_Parser(text).parse(), program.accept)
        self._accept = program.accept
        self._walks = 0
        self._pauses_at = _STEPS_PER_TURN
        self.steps = 0
        """How many have been taken, by all matches: what they cost."""

    def fullmatch(self, text: str) -> bool:
        """Does it match the text as a whole?"""
        matching = self.matching(text)
        while True:
            try:
                next(matching)
            except StopIteration as end:
                return end.value is True

    def matching(self, text: str) -> Generator[None, None, bool]:
        """The same in slices of some ms, whatever the number of matches in one: it yields after
        each slice, and returns the answer.
        """
        nodes = self._reached([self._start], is_start=True, is_end=not text)
        for position, character in enumerate(text, 1):
            taken = [node.next[0] for node in nodes if node.test and node.test(character)]
            self.steps += len(nodes)
            nodes = self._reached(taken, is_start=False, is_end=position == len(text))
            if self.steps > self._pauses_at:
                self._pauses_at = self.steps + _STEPS_PER_TURN
                yield
            if not nodes:
                return False
        return self._accept in nodes

    def _reached(self, nodes: list[_Node], *, is_start: bool, is_end: bool) -> list[_Node]:
        """All that is reached from these without taking a character."""
        self._walks += 1
        reached, waiting = [], nodes
        while waiting:
            node = waiting.pop()
            self.steps += 1
            if node.mark == self._walks:
                continue
            node.mark = self._walks
            if node.test or node is self._accept:
                reached.append(node)
            elif not node.edge or (is_start if node.edge == "start" else is_end):
                waiting.extend(node.next)
        return reached


_Tree: TypeAlias = "_Leaf | _All | _Any | _Repeat"


@dataclass(frozen=True, slots=True)
class _Leaf:
    test: Test | None = None
    edge: str = ""


@dataclass(frozen=True, slots=True)
class _All:
    parts: tuple[_Tree, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    parts: tuple[_Tree, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: _Tree
    least: int
    most: int | None


class _Program:
    """Trees become nodes, from their ends to their beginnings."""

    def __init__(self) -> None:
        self.accept = _Node()
        self._size = 0

    def build(self, tree: _Tree, then: _Node) -> _Node:
        """The first node of the tree, whose ends lead on to `then`."""
        self._size += 1
        if self._size > MAX_SIZE:
            raise PatternError(f"more than {MAX_SIZE} steps")
        match tree:
            case _Leaf(test, edge):
                return _Node(test, edge, [then])
            case _All(parts):
                for part in reversed(parts):
                    then = self.build(part, then)
                return then
            case _Any(parts):
                return _Node(next=[self.build(part, then) for part in parts])
            case _Repeat(part, least, most):
                return self._repeat(part, least, most, then)

    def _repeat(self, part: _Tree, least: int, most: int | None, then: _Node) -> _Node:
        if most is None:
            again = _Node(next=[then])
            again.next.append(self.build(part, again))
            then = again
        for _ in range(0 if most is None else most - least):
            then = _Node(next=[then, self.build(part, then)])
        for _ in range(least):
            then = self.build(part, then)
        return then


class _Parser:
    """Text becomes a tree, by descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> _Tree:
        tree = self._alternatives()
        if self._at < len(self._text):
            raise PatternError("a ) too many")
        return tree

    def _alternatives(self) -> _Tree:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Any(tuple(parts))

    def _sequence(self) -> _Tree:
        parts: list[_Tree] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated())
        return _All(tuple(parts))

    def _repeated(self) -> _Tree:
        if self._repetition() is not None:
            raise PatternError("nothing to repeat")
        tree = self._atom()
        repetition = self._repetition()
        if repetition is None:
            return tree
        self._take("?")  # As few as possible: for a match of the whole it is all the same.
        if self._repetition() is not None:
            raise PatternError("a repetition of a repetition")
        return _Repeat(tree, *repetition)

    def _repetition(self) -> tuple[int, int | None] | None:
        """What says how often, if that comes next."""
        if self._at < len(self._text) and self._text[self._at] in _REPETITIONS:
            self._at += 1
            return _REPETITIONS[self._text[self._at - 1]]
        braces = _BRACES.match(self._text, self._at)
        if braces is None:
            return None
        self._at = braces.end()
        least = int(braces["least"])
        most = least if braces["more"] is None else int(braces["most"]) if braces["most"] else None
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise PatternError(f"{braces[0]} cannot be")
        return least, most

    def _atom(self) -> _Tree:
        character = self._next()
        match character:
            case "(":
                return self._group()
            case "[":
                return _Leaf(self._class())
            case "\\":
                return self._escape()
            case "^":
                return _Leaf(edge="start")
            case "$":
                return _Leaf(edge="end")
            case ".":
                return _Leaf("\n".__ne__)
        return _Leaf(character.__eq__)

    def _group(self) -> _Tree:
        if self._take("?") and not self._take(":"):
            raise PatternError("flags and names of groups are not understood")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PatternError(f"groups deeper than {MAX_DEPTH}")
        tree = self._alternatives()
        self._depth -= 1
        if not self._take(")"):
            raise PatternError("a ( without its )")
        return tree

    def _escape(self) -> _Leaf:
        character = self._next()
        if character in _EDGES:
            return _Leaf(edge=_EDGES[character])
        if character in _SETS:
            return _Leaf(_Class(_SETS[character]))
        return _Leaf(self._escaped(character).__eq__)

    def _escaped(self, character: str) -> str:
        if character == "x":
            return self._hexadecimal()
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isascii() and character.isalnum():
            raise PatternError(f"\\{character} is not understood")
        return character

    def _hexadecimal(self) -> str:
        digits = _HEX.match(self._text, self._at)
        if digits is None or int(digits[1] or digits[2], 16) > _LAST_CHARACTER:
            raise PatternError("\\x without a character's number")
        self._at = digits.end()
        return chr(int(digits[1] or digits[2], 16))

    def _class(self) -> Test:
        is_negated = self._take("^")
        # As the first of a class, a ] is one of its characters.
        ranges = self._member(self._next())
        while not self._take("]"):
            ranges = ranges + self._member(self._next())
        return _Class(_negated(ranges) if is_negated else _merged(ranges))

    def _member(self, character: str) -> Ranges:
        """One character of a class, a range, or a set."""
        if character == "[" and self._text[self._at : self._at + 1] == ":":
            raise PatternError("[:names:] are not understood")
        if character == "\\":
            character = self._next()
            if character in _SETS:
                return _SETS[character]
            character = self._escaped(character)
        first = ord(character)
        if self._text[self._at : self._at + 1] != "-" or self._text[self._at + 1 :][:1] in "]":
            return ((first, first),)
        self._at += 1
        last = self._next()
        last = self._escaped(self._next()) if last == "\\" else last
        if ord(last) < first:
            raise PatternError(f"{character}-{last} is no range")
        return ((first, ord(last)),)

    def _next(self) -> str:
        if self._at == len(self._text):
            raise PatternError("it ends too soon")
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, character: str) -> bool:
        is_next = self._text[self._at : self._at + 1] == character
        self._at += is_next
        return is_next


class _Class:
    """Characters by their numbers, in ranges: found by halving, however many they are."""

    def __init__(self, ranges: Ranges) -> None:
        self._firsts = [first for first, _ in ranges]
        self._lasts = [last for _, last in ranges]

    def __call__(self, character: str) -> bool:
        number = ord(character)
        at = bisect_right(self._firsts, number)
        return at > 0 and number <= self._lasts[at - 1]


def _merged(ranges: Ranges) -> Ranges:
    """In order, and none in another."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return tuple(merged)


def _negated(ranges: Ranges) -> Ranges:
    """All characters between these."""
    edges = [-1, *(edge for each in _merged(ranges) for edge in each), _LAST_CHARACTER + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in gaps if before + 1 < after)


_LAST_CHARACTER = 0x10FFFF
_DIGITS = ((0x30, 0x39),)
_WORD = (*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
_SETS: dict[str, Ranges] = {
    "d": _DIGITS,
    "D": _negated(_DIGITS),
    "w": _WORD,
    "W": _negated(_WORD),
    "s": _SPACE,
    "S": _negated(_SPACE),
}
_EDGES = {"A": "start", "z": "end"}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_REPETITIONS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_BRACES = re.compile(r"\{(?P<least>[0-9]{1,9})(?P<more>,(?P<most>[0-9]{1,9})?)?\}")
_HEX = re.compile(r"\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2})")
