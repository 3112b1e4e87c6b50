"""How a term is read from a Subject: a closure that returns its value, or None where there is none.

Null and missing are the same here. A bare `value` is read in two ways: as text it is the content of
a JSON string, or else the whole text; otherwise it is the JSON value, or the text if that is none.
Above: compile.py, tables.py. Below: subject.py.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from kafkaesque.client.filters.subject import NOT_JSON, Subject
from kafkaesque.client.filters.syntax import Call, Field, Literal, Step, Term

Read: TypeAlias = Callable[[Subject], Any]


def reader(term: Term, *, as_text: bool) -> Read:
    if isinstance(term, Literal):
        value = term.value
        return lambda subject: value
    if isinstance(term, Call):
        return _call_reader(term)
    if term.root == "value":
        return _value_reader(term, as_text)
    if term.root == "header":
        name = str(term.path[0])
        return lambda subject: subject.headers().get(name)
    return _ROOTS[term.root]


_ROOTS: dict[str, Read] = {
    "key": lambda subject: subject.key(),
    "topic": lambda subject: subject.topic,
    "partition": lambda subject: subject.partition,
    "offset": lambda subject: subject.record.offset,
    "timestamp": lambda subject: subject.record.timestamp,
}


def _call_reader(call: Call) -> Read:
    argument = reader(call.arguments[0], as_text=True)
    if call.name == "length":

        def length(subject: Subject) -> int | None:
            text = argument(subject)
            return len(text) if type(text) is str else None

        return length

    def lower(subject: Subject) -> str | None:
        text = argument(subject)
        return text.lower() if type(text) is str else None

    return lower


def _value_reader(field: Field, as_text: bool) -> Read:
    if not field.path:
        return (lambda subject: subject.content()) if as_text else _scalar
    if is_member(field):
        return _member(str(field.path[0]))
    return _nested(field.path)


def is_member(field: Field) -> bool:
    """Whether it is a field right below the value."""
    return field.root == "value" and len(field.path) == 1 and isinstance(field.path[0], str)


def _scalar(subject: Subject) -> Any:
    document = subject.document()
    return subject.text() if document is NOT_JSON else document


def _member(name: str) -> Read:
    def read(subject: Subject) -> Any:
        document = subject.document()
        return document.get(name) if type(document) is dict else None

    return read


def _nested(path: tuple[Step, ...]) -> Read:
    def read(subject: Subject) -> Any:
        found = subject.document()
        for step in path:
            if type(found) is dict and type(step) is str:
                found = found.get(step)
            elif type(found) is list and type(step) is int and step < len(found):
                found = found[step]
            else:
                return None
        return found

    return read
