"""Tokens into a tree, by hand, within limits: a hostile filter is refused before it costs anything.

    either      both ("or" both)*
    both        negation ("and" negation)*
    negation    "not" negation | comparison
    comparison  operand ((== != < <= > >=) operand)*  |  operand ["not"] "in" "(" literals ")"
    operand     "(" either ")" | literal | field | function "(" operand, … ")"
    field       value path* | header path | key | topic | partition | offset | timestamp
    path        "." word | "[" string "]" | "[" number "]"

Several comparisons in a row (100 <= value.price < 200) mean each of them.
Above: predicate.py. Below: tokens.py, syntax.py.
"""

from collections.abc import Iterator
from typing import Final, NoReturn

from kafkaesque.client.filters.errors import FilterError, quoted
from kafkaesque.client.filters.syntax import (
    Call,
    Comparison,
    Expression,
    Field,
    Junction,
    Literal,
    Membership,
    Not,
    Step,
    Term,
)
from kafkaesque.client.filters.tokens import Token, tokens

MAX_DEPTH = 32
MAX_LITERALS = 1_000
MAX_COMPARISONS = 100
MAX_STEPS = 16

ROOTS = ("value", "key", "header", "topic", "partition", "offset", "timestamp")
FUNCTIONS: Final = {
    "startswith": 2,
    "endswith": 2,
    "contains": 2,
    "exists": 1,
    "lower": 1,
    "length": 1,
}
_CONSTANTS = {"null": None, "true": True, "false": False}
_KEYWORDS = {"and", "or", "not", "in", *_CONSTANTS}
_ORDERINGS = {"<", "<=", ">", ">="}
_OPERATORS = {"==", "!="} | _ORDERINGS
_SYNONYMS = {"none": "null", "is": "==", "headers": "header"}


def tree(text: str) -> Expression:
    return _Parser(tokens(text)).whole()


class _Parser:
    def __init__(self, found: Iterator[Token]) -> None:
        self._tokens = found
        self._now = next(found)
        self._depth = 0
        self._literals = 0
        self._comparisons = 0

    def whole(self) -> Expression:
        if self._now.kind == "end":
            raise FilterError("the filter is empty: write for example value.price > 100", 0)
        expression = self._either()
        if self._now.kind != "end":
            self._refuse("and, or, or the end")
        return expression

    def _step(self) -> Token:
        """The token that it stands on; from now on it stands on the next. Not at the end."""
        token, self._now = self._now, next(self._tokens)
        return token

    def _take(self, kind: str, text: str) -> bool:
        if self._now.kind == kind and self._now.text == text:
            self._step()
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._take("mark", mark):
            self._refuse(mark)

    def _refuse(self, wanted: str) -> NoReturn:
        token = self._now
        cure = _SYNONYMS.get(token.text.lower()) or token.text.lower()
        if token.kind == "word" and token.text != cure and cure in (*_KEYWORDS, "=="):
            raise FilterError(f"unexpected {token.text}: write {cure}", token.position)
        raise FilterError(f"expected {wanted}, found {quoted(token.text)}", token.position)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise FilterError(
                f"more than {MAX_DEPTH} levels of parentheses and not: write it flatter",
                self._now.position,
            )

    def _count_comparison(self, position: int) -> None:
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            raise FilterError(
                f"more than {MAX_COMPARISONS} conditions: join equal fields with in (…),"
                " or subscribe twice",
                position,
            )

    def _either(self) -> Expression:
        start = self._now.position
        parts = [self._both()]
        while self._take("word", "or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Junction("or", tuple(parts), start)

    def _both(self) -> Expression:
        start = self._now.position
        parts = [self._negation()]
        while self._take("word", "and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Junction("and", tuple(parts), start)

    def _negation(self) -> Expression:
        start = self._now.position
        if not self._take("word", "not"):
            return self._comparison()
        self._deeper()
        inner = self._negation()
        self._depth -= 1
        return Not(inner, start)

    def _comparison(self) -> Expression:
        start = self._now.position
        self._count_comparison(start)
        left = self._operand()
        if self._now.kind == "word" and self._now.text in ("in", "not"):
            return self._membership(_term(left, start))
        parts: list[Expression] = []
        while self._now.kind == "mark" and self._now.text in _OPERATORS:
            operator = self._step()
            if parts:
                self._count_comparison(operator.position)
            right_start = self._now.position
            right = self._operand()
            parts.append(
                Comparison(
                    operator.text,
                    _term(left, start),
                    _term(right, right_start),
                    operator.position,
                )
            )
            left, start = right, right_start
        if len(parts) > 1:
            _check_chain(parts)
            return Junction("and", tuple(parts), start)
        return parts[0] if parts else left

    def _membership(self, term: Term) -> Membership:
        start = self._now.position
        negated = self._take("word", "not")
        if not self._take("word", "in"):
            self._refuse("in")
        self._expect("(")
        choices = [self._choice()]
        while self._take("mark", ",") and not self._at_mark(")"):
            choices.append(self._choice())
        self._expect(")")
        return Membership(term, tuple(choices), negated, start)

    def _at_mark(self, mark: str) -> bool:
        return self._now.kind == "mark" and self._now.text == mark

    def _choice(self) -> Literal:
        literal = self._maybe_literal()
        if literal is None:
            self._refuse("a number or a string in the list after in")
        return literal

    def _operand(self) -> Expression:
        if self._take("mark", "("):
            self._deeper()
            inner = self._either()
            self._expect(")")
            self._depth -= 1
            return inner
        literal = self._maybe_literal()
        if literal is not None:
            return literal
        token = self._now
        if token.kind != "word" or token.text in _KEYWORDS:
            self._refuse("a field, a number or a string")
        self._step()
        if self._at_mark("("):
            return self._call(token)
        return self._field(token)

    def _maybe_literal(self) -> Literal | None:
        token = self._now
        if token.kind in ("number", "string"):
            value: str | int | float | None = token.value
        elif token.kind == "word" and token.text in _CONSTANTS:
            value = _CONSTANTS[token.text]
        else:
            return None
        self._step()
        self._literals += 1
        if self._literals > MAX_LITERALS:
            raise FilterError(
                f"more than {MAX_LITERALS} numbers and strings: subscribe twice", token.position
            )
        return Literal(value, token.position)

    def _call(self, name: Token) -> Call:
        wanted = FUNCTIONS.get(name.text)
        if wanted is None:
            raise FilterError(
                f"there is no function {quoted(name.text)}: there are {', '.join(FUNCTIONS)}",
                name.position,
            )
        self._deeper()
        self._expect("(")
        arguments = [self._argument()]
        while self._take("mark", ","):
            arguments.append(self._argument())
        if len(arguments) != wanted:
            raise FilterError(
                f"{name.text} takes {wanted} argument{'s' if wanted > 1 else ''},"
                f" not {len(arguments)}",
                name.position,
            )
        self._expect(")")
        self._depth -= 1
        return Call(name.text, tuple(arguments), name.position)

    def _argument(self) -> Term:
        start = self._now.position
        return _term(self._operand(), start)

    def _field(self, root: Token) -> Field:
        if root.text not in ROOTS:
            raise FilterError(_unknown_name(root.text), root.position)
        path: list[Step] = []
        while self._now.kind == "mark" and self._now.text in (".", "["):
            if root.text == "header" and path:
                raise FilterError('a header has one name: header["a.b"]', self._now.position)
            if len(path) == MAX_STEPS:
                raise FilterError(f"more than {MAX_STEPS} steps in a field", self._now.position)
            path.append(self._path_step(root))
        if root.text == "header" and not path:
            raise FilterError('header needs a name: header.source, header["x-y"]', root.position)
        return Field(root.text, tuple(path), root.position)

    def _path_step(self, root: Token) -> Step:
        mark = self._step()
        if root.text not in ("value", "header"):
            raise FilterError(f"{root.text} has no fields: only value has", mark.position)
        token = self._now
        if mark.text == ".":
            if token.kind != "word":
                self._refuse('a name after the dot (others in brackets: value["odd name"])')
            self._step()
            return token.text
        number = token.kind == "number" and root.text == "value"
        if not number and token.kind != "string":
            self._refuse('a name in quotes: value["odd name"]')
        if isinstance(token.value, float) or (isinstance(token.value, int) and token.value < 0):
            raise FilterError("a place in an array is 0, 1, 2 …", token.position)
        self._step()
        self._expect("]")
        return token.value


def _term(expression: Expression, start: int) -> Term:
    """What can be compared, or given to a function."""
    if isinstance(expression, Literal | Field | Call):
        return expression
    raise FilterError(
        "a condition has no value to compare: join conditions with and, or, not", start
    )


def _check_chain(parts: list[Expression]) -> None:
    for part in parts:
        if isinstance(part, Comparison) and part.operator not in _ORDERINGS:
            raise FilterError(
                f"{part.operator} in a row of comparisons: join two comparisons with and",
                part.position,
            )


def _unknown_name(name: str) -> str:
    known = _SYNONYMS.get(name.lower(), name.lower())
    if known != name and known in (*_KEYWORDS, *ROOTS):
        return f"unknown name {name}: write {known}"
    name = quoted(name)
    return f"unknown name {name}: a field of the value is written value.{name}, text in quotes"
