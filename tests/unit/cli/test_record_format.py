"""The language of -f: what it is read as, and where it is wrong."""

import pytest

from kafkaesque.cli.topic.record_format import Field, FormatError, Literal, parse_format


def test_a_format_is_fields_and_what_stands_between_them() -> None:
    assert parse_format("%k: %v{hex}\\n") == (
        Field("k"),
        Literal(b": "),
        Field("v", "hex"),
        Literal(b"\n"),
    )


def test_escapes_become_the_characters_they_mean() -> None:
    assert parse_format(r"\t\n\r\\\x00\xFf%%%{%}ü") == (Literal(b"\t\n\r\\\x00\xff%{}\xc3\xbc"),)


def test_the_format_of_a_header_may_have_braces_of_its_own() -> None:
    (headers,) = parse_format("%h{%k=%v{hex}%},}")
    assert headers == Field(
        "h",
        "%k=%v{hex}%},",
        (Field("k"), Literal(b"="), Field("v", "hex"), Literal(b"},")),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("%v%q", "unknown '%q' at position 3: there are %t, %k, %v"),
        ("%", "'%' at position 1: what follows it is missing"),
        ("ab\\", "at position 3: what follows it is missing"),
        ("a\\q", r"unknown '\\\\q' at position 2: write \\\\ for a backslash"),
        ("\\xg1", r"unknown '\\\\x' at position 1"),
        ("%v{zip}", "'%v{zip}' at position 1: braces may hold hex or base64"),
        ("%p{hex}", "'%p{hex}' at position 1: it takes no braces"),
        ("%d{now}", "braces may hold strftime"),
        ("a%v{hex", "the '{' at position 4 is not closed"),
        ("%h{%k %t}", "unknown '%t' at position 7: there are %k, %v, %K, %V"),
    ],
)
def test_a_wrong_format_is_told_where_it_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_format(text)
    assert complaint.replace(r"\\\\", r"\\").replace(r"\\", "\\\\") in str(error.value)
