"""Random filters over random records: the index, the closures, and two judges from outside.

`naive` below is the language said again, slowly: three-line rules over the tree that the grammar
makes, with nothing of the normal form or the compiler. SQLite's JSON functions, which nobody here
wrote, judge the part of the language that SQL can say.
"""

import operator
import sqlite3
from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from kafkaesque.client.filters import FilterError, PredicateIndex, Subject, parse
from kafkaesque.client.filters.grammar import tree
from kafkaesque.client.filters.syntax import (
    Call,
    Comparison,
    Expression,
    Field,
    Junction,
    Literal,
    Membership,
    Not,
)
from kafkaesque.records.record import Record

# Few names and few values, so that filters and records meet; each name has one kind in filters, and
# any in records.
NUMBER_FIELDS = ("value.n", "value.m", "value.deep.n", "value.list[1]", "offset", "length(key)")
TEXT_FIELDS = ("value.t", 'value["u v"]', "key", "header.h", "lower(value.t)")
NUMBERS = st.sampled_from(
    [0, 1, -1, 2, 2.5, 1e9, 2**53, 2**53 + 1, 2**63, 2**64 - 1, 1e300, -1e300, 1e-300, 0.1]
) | st.integers(-5, 5)
TEXTS = st.sampled_from(["", "a", "b", "ab", "ABC", "☃", "𝄞", "1", 'q"\\', "\n"])
SCALARS = NUMBERS | TEXTS | st.booleans() | st.none()
ORDERS = st.sampled_from(["<", "<=", ">", ">="])
EQUALS = st.sampled_from(["==", "!="])


def quoted(value: object) -> str:
    return orjson.dumps(value).decode()


def a_list(values: list[Any]) -> str:
    return "(" + ", ".join(quoted(value) for value in values) + ")"


def conditions_on(
    fields: tuple[str, ...], values: st.SearchStrategy[Any]
) -> st.SearchStrategy[str]:
    field = st.sampled_from(fields)
    sign = ORDERS | EQUALS
    in_or_not = st.sampled_from(["in", "not in"])
    return st.one_of(
        st.builds(lambda f, s, v: f"{f} {s} {quoted(v)}", field, sign, values),
        st.builds(lambda v, s, f: f"{quoted(v)} {s} {f}", values, sign, field),
        st.builds(
            lambda a, s, f, z, b: f"{quoted(a)} {s} {f} {z} {quoted(b)}",
            values,
            ORDERS,
            field,
            ORDERS,
            values,
        ),
        st.builds(
            lambda f, i, v: f"{f} {i} {a_list(v)}",
            field,
            in_or_not,
            st.lists(values, min_size=1, max_size=4),
        ),
        st.builds(lambda f, s, g: f"{f} {s} {g}", field, sign, field),
        st.builds(lambda f, s: f"{f} {s} null", field, EQUALS),
    )


MATCHES = st.builds(
    lambda name, field, text: f"{name}({field}, {quoted(text)})",
    st.sampled_from(["startswith", "endswith", "contains"]),
    st.sampled_from(TEXT_FIELDS),
    TEXTS,
)
BOOLEANS = st.sampled_from(
    [
        "value.f",
        "value.f == true",
        "value.f != false",
        "exists(value.f)",
        "true",
        "false",
        "value.g",
    ]
)
ATOMS = (
    conditions_on(NUMBER_FIELDS, NUMBERS) | conditions_on(TEXT_FIELDS, TEXTS) | MATCHES | BOOLEANS
)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda each: " and ".join(f"({part})" for part in each)),
        several.map(lambda each: " or ".join(f"({part})" for part in each)),
        parts.map(lambda part: f"not ({part})"),
    )


FILTERS = st.recursive(ATOMS, joined, max_leaves=6)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "n": SCALARS,
        "m": NUMBERS,
        "t": SCALARS,
        "u v": TEXTS,
        "f": SCALARS,
        "g": st.booleans(),
        "deep": st.fixed_dictionaries({}, optional={"n": NUMBERS}) | SCALARS,
        "list": st.lists(NUMBERS, max_size=3) | SCALARS,
    },
)
VALUES = st.one_of(
    OBJECTS.map(orjson.dumps),
    OBJECTS.map(orjson.dumps),
    SCALARS.map(orjson.dumps),
    st.none(),
    st.sampled_from([b"", b"plain", b"\xff", b"{", b"NaN"]),
)
KEYS = st.none() | TEXTS.map(str.encode) | st.just(b"\xff")
RECORDS = st.builds(
    Record,
    offset=st.integers(0, 5),
    timestamp=st.just(0),
    key=KEYS,
    value=VALUES,
    headers=st.lists(st.tuples(st.sampled_from(["h", "i"]), KEYS), max_size=2).map(tuple),
)

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def naive(node: Expression, record: Record) -> bool:
    match node:
        case Not(inner):
            return not naive(inner, record)
        case Junction(word, parts):
            each = [naive(part, record) for part in parts]
            return all(each) if word == "and" else any(each)
        case Comparison("!=", left, right):
            return not naive(Comparison("==", left, right), record)
        case Comparison(sign, left, right):
            if Literal(None) in (left, right):
                return naive_term(left, record) is naive_term(right, record) is None
            return naive_compare(sign, naive_term(left, record), naive_term(right, record))
        case Membership(term, choices, negated):
            found = naive_term(term, record)
            return negated is not any(naive_compare("==", found, each.value) for each in choices)
        case Call("exists", (field,)):
            return naive_term(field, record) is not None
        case Call(name, (term, argument)):
            text, part = naive_term(term, record), naive_term(argument, record)
            if not isinstance(text, str) or not isinstance(part, str):
                return False
            at = {"startswith": text[: len(part)], "endswith": text[len(text) - len(part) :]}
            return (
                part in text if name == "contains" else len(part) <= len(text) and at[name] == part
            )
        case _:
            return naive_term(node, record) is True


def naive_compare(sign: str, one: Any, other: Any) -> bool:
    kinds = {bool: "boolean", int: "number", float: "number", str: "text"}
    kind = kinds.get(type(one))
    if kind is None or kind != kinds.get(type(other)) or (kind == "boolean" and sign != "=="):
        return False
    return COMPARE[sign](one, other)


def naive_term(term: Expression, record: Record) -> Any:
    match term:
        case Literal(value):
            return value
        case Call(name, (argument,)):
            text = naive_term(argument, record)
            if not isinstance(text, str):
                return None
            return text.lower() if name == "lower" else len(text)
        case Field("value", path):
            return naive_path(path, record.value)
        case Field("header", (wanted,)):
            values = [value for name, value in record.headers if name == wanted]
            return naive_text(values[-1]) if values else None
        case Field("key"):
            return naive_text(record.key)
        case Field("offset"):
            return record.offset
    raise AssertionError(term)


def naive_text(data: bytes | None) -> str | bytes | None:
    if data is None or data == b"\xff":
        return data
    return data.decode()


def naive_path(path: tuple[str | int, ...], value: bytes | None) -> Any:
    try:
        found = orjson.loads(value or b"null")
        for step in path:
            # Python would find the second letter of a text, too.
            if isinstance(found, str) or isinstance(step, int) is isinstance(found, dict):
                return None
            found = found[step]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return found


@given(st.lists(FILTERS, min_size=1, max_size=12), st.lists(RECORDS, min_size=1, max_size=8))
@settings(max_examples=examples(300))
def test_index_equals_predicates_equal_the_naive_reading(
    texts: list[str], records: list[Record]
) -> None:
    predicates = [parse(text) for text in texts]
    index: PredicateIndex[int] = PredicateIndex()
    for item, predicate in enumerate(predicates):
        index.add(predicate, item)
    # Some come and go: what they leave behind must not count.
    for item, predicate in enumerate(predicates):
        index.add(predicate, -item - 1)
    for item, predicate in enumerate(predicates):
        index.remove(predicate, -item - 1)
    for record in records:
        expected = [item for item, text in enumerate(texts) if naive(tree(text), record)]
        subject = Subject("t", 0, record)
        assert [n for n, each in enumerate(predicates) if each.matches(subject)] == expected
        assert sorted(index.matches(Subject("t", 0, record))) == expected
    for item, predicate in enumerate(predicates):
        index.remove(predicate, item)
    assert len(index) == 0
    assert not index._tables


@given(FILTERS)
@settings(max_examples=examples(300))
def test_the_normal_text_reads_back(text: str) -> None:
    predicate = parse(text)
    again = parse(str(predicate))
    assert again == predicate
    assert str(again) == str(predicate)
    assert hash(again) == hash(predicate)


WORDS = """value key header . [ ] ( ) , == != < <= in not and or null true 1 -2.5 "a" ' exists(
    lower( \\ "\\u12" "\\n" ☃ 0x1 1e5 = && value.a [0] ['x'] __class__ lambda : ;"""
PIECES = st.sampled_from([*WORDS.split(), "\x00", "\ud800"])
GARBAGE = st.text(max_size=40) | st.lists(PIECES, max_size=20).map(" ".join)
CUT_SHORT = st.builds(lambda text, at, rest: text[:at] + rest, FILTERS, st.integers(0, 60), GARBAGE)


def refusal(text: str) -> FilterError | None:
    try:
        parse(text)
    except FilterError as error:
        return error
    return None


@given(GARBAGE | CUT_SHORT)
@settings(max_examples=examples(500))
def test_garbage_is_refused_with_a_place_and_nothing_else(text: str) -> None:
    refused = refusal(text)
    if refused is not None:
        assert 0 <= refused.position <= len(text)
        assert "\n" in str(refused) or not text
        return
    predicate = parse(text)
    predicate.matches(Subject("t", 0, Record(0, 0, None, b'{"a": [1]}')))
    assert parse(str(predicate)) == predicate


SQL_FIELDS = {"value.n": "$.n", "value.m": "$.m", "value.deep.n": "$.deep.n", "value.t": "$.t"}
SMALL = st.integers(-5, 5) | st.sampled_from([2.5, 0.5, -1.5])
PLAIN = st.sampled_from(["", "a", "b", "ab", "ABC", "☃", "1"])


def sql_comparison(field: str, sign: str, value: Any) -> tuple[str, str, list[Any]]:
    """The filter, the same in SQL, and its parameters. SQL's NULL is made false; its true is 1, and
    it orders texts above all numbers: so the type is asked for first."""
    types = "('integer','real')" if not isinstance(value, str) else "('text')"
    path = SQL_FIELDS[field]
    sql = f"(coalesce(json_type(v,?) in {types} and json_extract(v,?) {{}} ?, 0))"
    if sign == "!=":
        return f"{field} != {quoted(value)}", f"(not {sql.format('=')})", [path, path, value]
    return f"{field} {sign} {quoted(value)}", sql.format(sign), [path, path, value]


SQL_ATOMS = st.one_of(
    st.builds(
        sql_comparison,
        st.sampled_from(["value.n", "value.m", "value.deep.n"]),
        ORDERS | EQUALS,
        SMALL,
    ),
    st.builds(sql_comparison, st.just("value.t"), ORDERS | EQUALS, PLAIN),
    st.sampled_from(["value.n", "value.t"]).map(
        lambda f: (f"{f} == null", "(json_extract(v,?) is null)", [SQL_FIELDS[f]])
    ),
)


def sql_joined(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def both(word: str, one: Any, other: Any) -> tuple[str, str, list[Any]]:
        return (
            f"({one[0]}) {word} ({other[0]})",
            f"({one[1]} {word} {other[1]})",
            one[2] + other[2],
        )

    return st.one_of(
        st.builds(both, st.sampled_from(["and", "or"]), parts, parts),
        parts.map(lambda part: (f"not ({part[0]})", f"(not {part[1]})", part[2])),
    )


SQL_OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "n": SMALL | PLAIN | st.booleans() | st.none(),
        "m": SMALL,
        "deep": st.fixed_dictionaries({}, optional={"n": SMALL}),
        "t": PLAIN | SMALL | st.none(),
    },
)


@given(st.recursive(SQL_ATOMS, sql_joined, max_leaves=6), st.lists(SQL_OBJECTS, max_size=10))
@settings(max_examples=examples(200))
def test_sqlite_agrees(said: tuple[str, str, list[Any]], objects: list[dict[str, Any]]) -> None:
    text, sql, parameters = said
    predicate = parse(text)
    database = sqlite3.connect(":memory:")
    try:
        for each in objects:
            value = orjson.dumps(each)
            row = database.execute(
                f"select {sql} from (select ? as v)", [*parameters, value.decode()]
            ).fetchone()
            subject = Subject("t", 0, Record(0, 0, None, value))
            assert predicate.matches(subject) == bool(row[0]), (text, sql, each)
    finally:
        database.close()
