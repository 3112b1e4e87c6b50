"""What is refused before any record is seen: where, and with which words."""

import pytest

from kafkaesque.client.filters import FilterError, parse
from kafkaesque.client.filters.grammar import MAX_COMPARISONS, MAX_DEPTH, MAX_LITERALS, MAX_STEPS
from kafkaesque.client.filters.tokens import MAX_TEXT

# The caret stands under the offending token.
KINDS = [
    ('value.a == 1 and value.a == "x"', '"x"', "compare it with a number"),
    ('value.a == "x" or value.a > 3', "3", "text in quotes"),
    ("value.a and value.a > 3", "value.a > 3", "orders numbers and text"),
    ("value.a < true", "true", "write == or !="),
    ("null < value.a", "null", "write == or !="),
    ('value.a in (1, "x")', '"x"', "a list holds one kind"),
    ("value.a in (true, 1)", "1)", "a list holds one kind"),
    ("value.a in (1, null)", "null", "value.a == null or"),
    ("null in (1, 2)", "null", "a field"),
    ("not 5", "5", "not a condition"),
    ("null", "null", "not a condition"),
    ('"text"', '"text"', "not a condition"),
    ("not key", "key", "not a condition"),
    ("lower(key)", "lower", "not a condition"),
    ("key == 5", "5", 'like "100"'),
    ('partition == "3"', '"3"', "like 100"),
    ('header.x > 1 and key == "a"', "1", "text in quotes"),
    ("startswith(value.a, 5)", "5", "startswith looks into text"),
    ("startswith(null, key)", "null", "startswith looks into text"),
    ("lower(partition) == key", "partition", "lower looks into text"),
    ("length(value.a) == 3 and value.a == 3", "3", "text in quotes"),
    ('length(key) == "x"', '"x"', "compare it with a number"),
    ("exists(5)", "5", "a field"),
    ("exists(lower(key))", "lower", "a field"),
    ("exists(key) == true", "exists", "write it alone"),
    ('1 == "x"', '"x"', "compare it with a number"),
    ("5 == null", "5", "is never null"),
    ("value.a < value.b and value.a == 1 and value.b", "value.b", "but value.a is"),
    (
        'value.a == value.b and value.b == value.c and value.a == 1 and value.c == "x"',
        "value.c",
        "but value.b",
    ),
    ("value.a < value.b and value.b", "<", "orders numbers and text"),
]


@pytest.mark.parametrize(("text", "token", "words"), KINDS)
def test_kinds(text: str, token: str, words: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert text[refused.value.position :].startswith(token)
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "empty"),
        ("  ", 0, "empty"),
        ("value.a >", 9, "expected a field"),
        ("value.a = 1", 8, "write =="),
        ("value.a == 1 && key == 'x'", 13, "write and"),
        ("value.a == 1 || key == 'x'", 13, "write or"),
        ("!value.a", 0, "write not"),
        ("value.order-id == 3", 11, 'value["order-id"]'),
        ("value.a == 1 AND value.b == 2", 13, "write and"),
        ("value.a is null", 8, "write =="),
        ("value.a == None", 11, "write null"),
        ("value.a == True", 11, "write true"),
        ("price > 3", 0, "value.price"),
        ("headers.x == 'y'", 0, "write header"),
        ("value.a == 1 value.b == 2", 13, "and, or, or the end"),
        ("(value.a == 1", 13, "expected )"),
        ("value.a == 1)", 12, "expected and, or, or the end"),
        ("value.a in 1", 11, "expected ("),
        ("value.a in ()", 12, "a number or a string"),
        ("value.a in (value.b)", 12, "a number or a string"),
        ("value.a not 5", 12, "expected in"),
        ('value.a == "x', 11, "never ends"),
        ('value.a == "\\x41"', 12, "no escape"),
        ('value.a == "\\ud800"', 11, "surrogate"),
        ('value.a == "a\nb"', 13, "control character"),
        ("value.a == 007", 11, "not a number"),
        ("value.a == 1.2.3", 11, "not a number"),
        ("value.a == 12abc", 11, "not a number"),
        ("value.a == 1e999", 11, "not a number"),
        ("value.a == .5", 11, "expected a field"),
        ("value. == 1", 7, "a name after the dot"),
        ("value.0 == 1", 6, "a name after the dot"),
        ("value[-1] == 1", 6, "a place in an array"),
        ("value[1.5] == 1", 6, "a place in an array"),
        ("value[a] == 1", 6, "a name in quotes"),
        ("header[0] == 'x'", 7, "a name in quotes"),
        ("header == 'x'", 0, "needs a name"),
        ("header.a.b == 'x'", 8, "one name"),
        ("key.a == 'x'", 3, "no fields"),
        ("upper(key) == 'x'", 0, "there is no function upper"),
        ("startswith(key)", 0, "takes 2 arguments, not 1"),
        ("lower(key, key) == key", 0, "takes 1 argument, not 2"),
        ("lower(key == 'x') == key", 10, "expected )"),
        ("lower((key == 'x')) == key", 6, "a condition has no value"),
        ("(value.a == 1) == true", 0, "a condition has no value"),
        ("1 < value.a == 2", 12, "join two comparisons"),
        ("value.a + 1 == 2", 8, "unexpected '+'"),
        ("__import__('os')", 0, "there is no function"),
        ("\ud800", 0, "surrogate"),
        ("value.a == ☃", 11, "unexpected"),
    ],
)
def test_grammar(text: str, position: int, words: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert (refused.value.position, words in refused.value.message) == (position, True), str(
        refused.value
    )


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("value.a == " + "1" * MAX_TEXT, MAX_TEXT),
        ("(" * MAX_DEPTH + "(true" + ")" * (MAX_DEPTH + 1), MAX_DEPTH + 1),
        ("not " * (MAX_DEPTH + 1) + "true", 4 * (MAX_DEPTH + 1)),
        ("lower(" * (MAX_DEPTH + 1), 6 * (MAX_DEPTH + 1) - 1),
        ("value.a in (" + "1," * (MAX_LITERALS + 1) + ")", 12 + 2 * MAX_LITERALS),
        ("value.a or " * (MAX_COMPARISONS + 1), 11 * MAX_COMPARISONS),
        ("1" + " < value.a" * (MAX_COMPARISONS + 1), 2 + 10 * MAX_COMPARISONS),
        ("value" + ".a" * (MAX_STEPS + 1), 5 + 2 * MAX_STEPS),
    ],
)
def test_limits(text: str, position: int) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert refused.value.position == position


def test_limits_can_be_reached() -> None:
    parse("(" * MAX_DEPTH + "true" + ")" * MAX_DEPTH)
    parse("value.a in (" + "1," * MAX_LITERALS + ")")
    parse("value.a or " * (MAX_COMPARISONS - 1) + "value.a")
    parse("value" + ".a" * MAX_STEPS)
    parse("value.a == '" + "x" * (MAX_TEXT - 13) + "'")


def test_the_error_shows_the_text_and_a_caret() -> None:
    with pytest.raises(ValueError) as refused:
        parse('value.price > 100 and value.price == "x"')
    assert str(refused.value).splitlines() == [
        '"x" is text, but value.price is used as a number (at character 0):'
        " compare it with a number, like 100 (at character 37)",
        '  value.price > 100 and value.price == "x"',
        "                                       ^",
    ]


def test_a_long_text_is_shown_around_the_place() -> None:
    text = "value.a or " * 20 + "value.a == 1" + " or value.a" * 20
    with pytest.raises(FilterError) as refused:
        parse(text)
    _, shown, caret = str(refused.value).splitlines()
    assert len(shown) < 80
    assert shown[caret.index("^")] == "1"


@pytest.mark.parametrize(
    "piece", ["9" * 9_000 + "x", "x" * 9_000, "x" * 9_000 + "()", "'" + "x" * 9_000 + "'"]
)
def test_an_error_is_short_however_long_the_text(piece: str) -> None:
    for text in (piece, f"value.a == 1 and value.a == {piece}", f"value.{piece} == 1 and {piece}"):
        with pytest.raises(FilterError) as refused:
            parse(text)
        assert len(str(refused.value)) < 600
