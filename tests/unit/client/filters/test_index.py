"""The index: which predicates are looked up, tested, shared and let go."""

from collections.abc import Iterable

import orjson
import pytest

from kafkaesque.client.filters import PredicateIndex, Subject, parse
from kafkaesque.client.filters.syntax import Field
from kafkaesque.client.filters.tables import ScalarTable
from kafkaesque.records.record import Record


def subject(value: object = None, key: str = "k", offset: int = 0) -> Subject:
    return Subject("t", 0, Record(offset, 0, key.encode(), orjson.dumps(value)))


def index(*texts: str) -> PredicateIndex[str]:
    made: PredicateIndex[str] = PredicateIndex()
    for text in texts:
        made.add(parse(text), text)
    return made


def found(made: PredicateIndex[str], values: Iterable[object]) -> list[list[str]]:
    return [sorted(made.matches(subject(value))) for value in values]


def test_equal_predicates_share_one_entry() -> None:
    made: PredicateIndex[int] = PredicateIndex()
    made.add(parse("value.a == 1 and value.b > 2"), 1)
    made.add(parse("2 < value.b and value.a in (1,)"), 2)
    made.add(parse("2 < value.b and value.a in (1,)"), 2)
    assert len(made) == 1
    assert made.matches(subject({"a": 1, "b": 3})) == [1, 2]
    made.remove(parse("value.a == 1 and value.b > 2"), 1)
    assert made.matches(subject({"a": 1, "b": 3})) == [2]
    made.remove(parse("value.a == 1 and value.b > 2"), 2)
    assert len(made) == 0
    assert made.matches(subject({"a": 1, "b": 3})) == []


def test_what_was_not_added_cannot_be_removed() -> None:
    made = index("value.a == 1")
    with pytest.raises(KeyError):
        made.remove(parse("value.a == 2"), "value.a == 1")
    with pytest.raises(KeyError):
        made.remove(parse("value.a == 1"), "another")
    assert made.matches(subject({"a": 1})) == ["value.a == 1"]


def test_numbers_texts_and_booleans_are_three_things() -> None:
    made = index("value.a == 1", "value.a == '1'", "value.a", "0 <= value.a < 3")
    assert found(made, [{"a": 1}, {"a": "1"}, {"a": True}, {"a": [1]}, {"a": 1.0}]) == [
        ["0 <= value.a < 3", "value.a == 1"],
        ["value.a == '1'"],
        ["value.a"],
        [],
        ["0 <= value.a < 3", "value.a == 1"],
    ]


def test_open_and_closed_ends() -> None:
    made = index(
        "value.a > 5", "value.a >= 5", "value.a < 5", "value.a <= 5", "4 < value.a < 5",
        "4 <= value.a <= 5", "5 < value.a <= 6", "5 <= value.a < 6", "'a' < value.a <= 'c'",
    )  # fmt: skip
    assert found(made, [{"a": 5}, {"a": 5.5}, {"a": "a"}, {"a": "b"}, {"a": "c"}, {"a": "d"}]) == [
        ["4 <= value.a <= 5", "5 <= value.a < 6", "value.a <= 5", "value.a >= 5"],
        ["5 < value.a <= 6", "5 <= value.a < 6", "value.a > 5", "value.a >= 5"],
        [],
        ["'a' < value.a <= 'c'"],
        ["'a' < value.a <= 'c'"],
        [],
    ]


def test_ranges_of_every_size() -> None:
    """Up to the ends of floats, and between integers that floats cannot tell apart."""
    made = index(
        "-1e308 <= value.a <= 1e308",
        "1e-320 < value.a < 1e-310",
        "9007199254740992 < value.a < 9007199254740994",
        "18446744073709551613 < value.a <= 18446744073709551614",
        "0.1 <= value.a <= 0.1000000000000001",
    )
    values = [1e308, 1e-315, 2**53, 2**53 + 1, 2**64 - 2, 2**64 - 1, 0.1, 0, -1e-320]
    counts = [len(each) for each in found(made, [{"a": value} for value in values])]
    assert counts == [1, 2, 1, 2, 2, 1, 2, 1, 1]


def test_there_are_not_many_widths() -> None:
    """Ranges of all sizes that floats have: a number is looked up in some sixty cells at most."""
    made: PredicateIndex[int] = PredicateIndex()
    for exponent in range(-320, 308):
        made.add(parse(f"1e{exponent} <= value.a < 2e{exponent}"), exponent)
    ((_, table),) = made._members.values()
    assert isinstance(table, ScalarTable)
    assert table._spans is not None
    assert len(table._spans._widths) <= 60
    assert made.matches(subject({"a": 1.5e-315})) == [-315]
    assert made.matches(subject({"a": 1.5e300})) == [300]


def test_prefixes() -> None:
    made = index("startswith(key, 'a')", "startswith(key, 'ab')", "startswith(key, '')")
    assert [len(made.matches(subject(key=key))) for key in ("", "a", "ab", "abc", "b")] == [
        1, 2, 3, 3, 1,
    ]  # fmt: skip


def test_a_disjunction_is_found_once() -> None:
    made = index("value.a == 1 or value.b == 2 or 0 < value.c < 9")
    assert made.matches(subject({"a": 1, "b": 2, "c": 3})) == [
        "value.a == 1 or value.b == 2 or 0 < value.c < 9"
    ]
    assert made.matches(subject({"a": 2, "b": 1, "c": 0})) == []


def test_parts_of_a_disjunction_may_ask_for_the_same() -> None:
    text = "value.a == 1 and value.b or value.a in (1, 2) and value.c"
    ranges = "0 < value.a < 3 and value.b or 0 < value.a < 2 and value.c or value.a > 9"
    made = index(text, ranges)
    values = [{"a": 1, "c": True}, {"a": 2, "b": True}, {"a": 1, "b": True, "c": True}]
    assert found(made, values) == [[ranges, text], [ranges], [ranges, text]]
    made.remove(parse(text), text)
    made.remove(parse(ranges), ranges)
    assert not made._tables


def test_a_field_of_a_document_that_is_a_list() -> None:
    assert index("value[0] == 1").matches(subject([1])) == ["value[0] == 1"]


@pytest.mark.slow
def test_only_candidates_are_looked_at() -> None:
    """Ten thousand predicates; the tests of those that cannot match never run."""
    made: PredicateIndex[int] = PredicateIndex()
    for n in range(5_000):
        made.add(parse(f"value.id == {n} and value.side != 'x'"), n)
        made.add(parse(f"{n} <= value.price < {n + 1} and value.side != 'x'"), -n - 1)
    looked_at = [0]
    for (entry,) in made._entries.values():
        test = entry.test
        assert test is not None

        def counted(asked: Subject, test: object = test) -> bool:
            looked_at[0] += 1
            assert callable(test)
            return bool(test(asked))

        entry.test = counted
    assert sorted(made.matches(subject({"id": 7, "price": 9.5}))) == [-10, 7]
    assert looked_at == [2]


def test_the_field_of_many_values_is_looked_up() -> None:
    """Everyone asks for side == "buy": that is not what they are held under."""
    made: PredicateIndex[int] = PredicateIndex()
    for n in range(1_000):
        made.add(parse(f'value.side == "buy" and value.ticker == "T{n}"'), n)
    held = [entry.guard.term for (entry,) in made._entries.values() if entry.guard]
    assert held.count(Field("value", ("ticker",))) > 990


def test_nothing_is_left_of_what_is_removed() -> None:
    texts = [
        "value.a == 1", "value.a in ('x', 'y')", "value.a", "startswith(key, 'a')", "value.a > 1",
        "1 < value.a < 2", "'a' < key", "'a' < key < 'b'", "value.a == 1 or value.b == 2",
        "value.a != 1", "true", "value.a.b == 1 and value.c != 2",
    ]  # fmt: skip
    made = index(*texts)
    for text in texts:
        made.remove(parse(text), text)
    assert (made._tables, made._members, made._others, made._unguarded) == ({}, {}, {}, {})
