"""Every term of a filter gets a kind from its use, before any record is seen.

Literals, functions and the record's own fields (key, topic, offset …) have theirs. A field of the
value takes the kind of what it is compared with, and keeps it through the whole filter: it is a
number, text or a boolean, and a second use as another kind is refused where it stands.
Null has no kind: anything may be compared with it by == and !=, nothing by order.
Above: predicate.py. Below: syntax.py.
"""

from enum import Enum

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
    Scalar,
    Term,
)
from kafkaesque.client.filters.written import term_text


class Kind(Enum):
    NUMBER = "a number"
    TEXT = "text"
    BOOLEAN = "a boolean"


_ROOTS = {
    "key": Kind.TEXT,
    "header": Kind.TEXT,
    "topic": Kind.TEXT,
    "partition": Kind.NUMBER,
    "offset": Kind.NUMBER,
    "timestamp": Kind.NUMBER,
}
_RESULTS = {"lower": Kind.TEXT, "length": Kind.NUMBER}
_INSTEAD = {
    Kind.NUMBER: "compare it with a number, like 100",
    Kind.TEXT: 'compare it with text in quotes, like "100"',
    Kind.BOOLEAN: "compare it with true or false",
}


def scalar_kind(value: Scalar) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    return Kind.TEXT if isinstance(value, str) else Kind.NUMBER


def own_kind(term: Term) -> Kind | None:
    """The kind that a term has whatever else the filter says; None for fields of the value."""
    if isinstance(term, Literal):
        return None if term.value is None else scalar_kind(term.value)
    if isinstance(term, Call):
        return _RESULTS.get(term.name)
    return _ROOTS.get(term.root)


def check(expression: Expression) -> None:
    """Refuse what can never be meant."""
    kinds = _Kinds()
    kinds.holds(expression)
    kinds.join()


class _Kinds:
    def __init__(self) -> None:
        self._fields: dict[Field, tuple[Kind, int]] = {}
        self._relations: list[Comparison] = []

    def holds(self, expression: Expression) -> None:
        """The expression stands where something is true or false."""
        match expression:
            case Junction(_, parts):
                for part in parts:
                    self.holds(part)
            case Not(inner):
                self.holds(inner)
            case Comparison():
                self._comparison(expression)
            case Membership():
                self._membership(expression)
            case Call(name, arguments) if name == "exists":
                _check_exists(arguments[0])
            case Call(name, arguments) if name not in _RESULTS:
                for argument in arguments:
                    self._text_argument(name, argument)
            case Literal() | Field() | Call():
                self._condition(expression)

    def _condition(self, term: Term) -> None:
        kind = self._kind(term)
        if kind is None and isinstance(term, Field):
            self._fields[term] = (Kind.BOOLEAN, term.position)
        elif kind is not Kind.BOOLEAN:
            what = "null" if kind is None else kind.value
            raise FilterError(
                f"{_quoted(term)} is {what}, not a condition: compare it with something",
                term.position,
            )

    def _kind(self, term: Term) -> Kind | None:
        if isinstance(term, Call):
            if term.name not in _RESULTS:
                raise FilterError(
                    f"{term.name} is true or false by itself: write it alone, or after not",
                    term.position,
                )
            self._text_argument(term.name, term.arguments[0])
        if isinstance(term, Field) and term in self._fields:
            return self._fields[term][0]
        return own_kind(term)

    def _text_argument(self, function: str, term: Term) -> None:
        kind = self._kind(term)
        if kind is None and isinstance(term, Field):
            self._fields[term] = (Kind.TEXT, term.position)
        elif kind is not Kind.TEXT:
            raise FilterError(
                f"{function} looks into text, and {self._described(term)}", term.position
            )

    def _comparison(self, comparison: Comparison) -> None:
        left, right = comparison.left, comparison.right
        ordered = comparison.operator not in ("==", "!=")
        for term in (left, right):
            kind = self._kind(term)
            if ordered and (kind is Kind.BOOLEAN or _is_null(term)):
                raise FilterError(
                    f"{self._described(term)}, and {comparison.operator} orders numbers and text:"
                    " write == or !=",
                    term.position,
                )
        if _is_null(left) or _is_null(right):
            self._null_comparison(left, right)
        elif not self._same(left, right):
            self._relations.append(comparison)

    def _null_comparison(self, left: Term, right: Term) -> None:
        for null, other in ((left, right), (right, left)):
            if _is_null(null) and isinstance(other, Literal) and other.value is not None:
                raise FilterError(
                    f"{_quoted(other)} is never null: compare a field with null", other.position
                )

    def _same(self, left: Term, right: Term) -> bool:
        """Both have one kind from now on; False if neither has one yet."""
        left_kind, right_kind = self._kind(left), self._kind(right)
        if left_kind is None and right_kind is None:
            return False
        if left_kind is None:
            assert isinstance(left, Field)
            assert right_kind is not None
            self._fields[left] = (right_kind, left.position)
        elif right_kind is None:
            assert isinstance(right, Field)
            self._fields[right] = (left_kind, right.position)
        elif left_kind is not right_kind:
            # The literal is what can be written otherwise; else the right one is to blame.
            odd, known = (left, right) if isinstance(left, Literal) else (right, left)
            if isinstance(left, Literal) and isinstance(right, Literal):
                odd, known = right, left
            raise FilterError(self._contradiction(odd, known), odd.position)
        return True

    def _membership(self, membership: Membership) -> None:
        term, choices = membership.term, membership.choices
        for choice in choices:
            if choice.value is None:
                raise FilterError(
                    f"null in a list: write {_quoted(term)} == null or …", choice.position
                )
        if _is_null(term):
            raise FilterError("null is in no list: write a field here", term.position)
        first = choices[0]
        self._same(term, first)
        for choice in choices[1:]:
            if own_kind(choice) is not own_kind(first):
                raise FilterError(
                    f"{self._described(choice)} in a list that begins with"
                    f" {_quoted(first)}: a list holds one kind",
                    choice.position,
                )

    def join(self) -> None:
        """Fields compared with each other get their kind from wherever one of them has it."""
        open_relations = self._relations
        while open_relations:
            left_over = [each for each in open_relations if not self._settled(each)]
            if len(left_over) == len(open_relations):
                return
            open_relations = left_over

    def _settled(self, relation: Comparison) -> bool:
        if not self._same(relation.left, relation.right):
            return False
        if relation.operator not in ("==", "!=") and self._kind(relation.left) is Kind.BOOLEAN:
            raise FilterError(
                f"{self._described(relation.left)}, and {relation.operator} orders numbers and"
                " text: write == or !=",
                relation.position,
            )
        return True

    def _contradiction(self, odd: Term, known: Term) -> str:
        kind = self._kind(known)
        assert kind is not None
        return f"{self._described(odd)}, but {self._described(known)}: {_INSTEAD[kind]}"

    def _described(self, term: Term) -> str:
        if _is_null(term):
            return "null has no kind"
        kind = self._kind(term)
        assert kind is not None
        if isinstance(term, Field) and term in self._fields:
            used = self._fields[term][1]
            return f"{_quoted(term)} is used as {kind.value} (at character {used})"
        return f"{_quoted(term)} is {kind.value}"


def _quoted(term: Term) -> str:
    return quoted(term_text(term))


def _is_null(term: Term) -> bool:
    return isinstance(term, Literal) and term.value is None


def _check_exists(term: Term) -> None:
    if not isinstance(term, Field):
        raise FilterError("exists asks for a field, like exists(value.price)", term.position)
