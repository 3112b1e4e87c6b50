"""Equal meanings are equal predicates, as far as that is cheap."""

import pytest

from kafkaesque.client.filters import parse


@pytest.mark.parametrize(
    ("texts", "normal"),
    [
        (
            (
                "value.b == 1 and value.a == 2",
                "value.a==2 and (value.b==1)",
                "2 == value.a and 1.0 == value.b and value.a == 2",
            ),
            "value.a == 2 and value.b == 1",
        ),
        (
            (
                'value.t in ("b", "a", "b")',
                "value.t == 'a' or value.t == 'b'",
                'not value.t not in ("a","b")',
            ),
            'value.t in ("a", "b")',
        ),
        (
            (
                "100 <= value.a < 200",
                "value.a < 200 and value.a >= 100",
                "200 > value.a >= 1e2 and value.a > 7",
            ),
            "100 <= value.a < 200",
        ),
        (("value.f", "value.f == true", "not not value.f"), "value.f == true"),
        (("exists(value.a)", "value.a != null", "not null == value.a"), "value.a != null"),
        (("value.a != 1 and value.a != 2", "value.a not in (2, 1)"), "value.a not in (1, 2)"),
        (("value.a > value.b", "value.b < value.a"), "value.b < value.a"),
        (("value.b == value.a", "value.a == value.b"), "value.a == value.b"),
        (
            ("value.a in (1, 2, 3) and value.a >= 2 and value.a != 3", "value.a == 2"),
            "value.a == 2",
        ),
        (("value.a >= 5 and value.a <= 5", "value.a == 5.0"), "value.a == 5"),
        (("value.a > 5 and value.a < 5", "value.a == 1 and value.a == 2", "1 > 2"), "false"),
        (("value.a == 1 or true", "1 < 2", "not false"), "true"),
        (
            ("not (value.a > 1 and value.b > 2)", "not value.b > 2 or not value.a > 1"),
            "not value.a > 1 or not value.b > 2",
        ),
        (('value["a"].b == 1', "value.a['b'] == 1"), "value.a.b == 1"),
        (("startswith(lower('ABC'), 'a')",), "true"),
        (("value.a == lower('ABC')", "value.a == '\\u0061bc'"), 'value.a == "abc"'),
    ],
)
def test_one_meaning_one_text(texts: tuple[str, ...], normal: str) -> None:
    predicates = {parse(text) for text in (*texts, normal)}
    assert {str(predicate) for predicate in predicates} == {normal}
    assert len(predicates) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("value.a == 1", "value.a == '1'"),
        ("value.a == 1", "value.a == true"),
        ("not value.a < 1", "value.a >= 1"),
        ("value.a < 1", "value.a <= 1"),
        ("value.a == 1 and value.b == 2 or value.c", "value.a == 1 and (value.b == 2 or value.c)"),
        ("value.a.b == 1", 'value["a.b"] == 1'),
        ("value.a[0] == 1", 'value.a["0"] == 1'),
        ("value.a == 9007199254740993", "value.a == 9007199254740992"),
    ],
)
def test_other_meanings_are_not_equal(one: str, other: str) -> None:
    assert parse(one) != parse(other)


def test_a_predicate_shows_how_it_is_made() -> None:
    assert repr(parse("1 < value.a")) == "parse('value.a > 1')"
    assert parse("value.a > 1").text == "value.a > 1"
    assert parse("value.a > 1") != "value.a > 1"
