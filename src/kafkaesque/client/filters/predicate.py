"""A filter, read and understood: `parse` makes it, and it is equal to every other of one meaning.

Above: the package's users, index.py. Below: grammar.py, kinds.py, normal.py, compile.py.
"""

from kafkaesque.client.filters.compile import Test, compiled
from kafkaesque.client.filters.conditions import Condition, fields
from kafkaesque.client.filters.errors import FilterError
from kafkaesque.client.filters.grammar import tree
from kafkaesque.client.filters.kinds import check
from kafkaesque.client.filters.normal import meaning
from kafkaesque.client.filters.subject import Subject
from kafkaesque.client.filters.written import condition_text


class Predicate:
    """`text` is the filter in its normal form; `parse` reads it back as an equal predicate."""

    __slots__ = ("_hash", "_test", "condition", "text")

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self.text = condition_text(condition)
        self._hash = hash(self.text)
        self._test: Test | None = None

    def matches(self, subject: Subject) -> bool:
        # Compiled when first asked: most subscriptions come and go with the index's look-up alone.
        if self._test is None:
            self._test = compiled(self.condition)
        return self._test(subject)

    @property
    def reads_value(self) -> bool:
        """Whether it has to be known what is in the value."""
        return any(field.root == "value" for field in fields(self.condition))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and self.text == other.text

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"parse({self.text!r})"


def parse(text: str) -> Predicate:
    """Raises FilterError: what is wrong, where, and what to write instead."""
    try:
        expression = tree(text)
        check(expression)
    except FilterError as error:
        error.text = text
        raise
    return Predicate(meaning(expression))
