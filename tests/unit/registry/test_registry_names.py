"""Names of subjects and contexts."""

import pytest

from kafkaesque.registry.names import (
    context_named,
    context_of,
    is_whole_context,
    normal,
    plain_name,
    qualified,
    require_valid,
    whole_context,
)
from kafkaesque.registry.problems import ProblemError


@pytest.mark.parametrize(
    ("subject", "context", "plain"),
    [
        ("s", ".", "s"),
        (":.eu:s", ".eu", "s"),
        (":.eu:a:b", ".eu", "a:b"),
        (":.:s", ".", ":.:s"),
        (":s", ".", ":s"),
        ("a:.eu:s", ".", "a:.eu:s"),
        (":.eu:", ".eu", ""),
        (":.eu", ".", ":.eu"),
        ("", ".", ""),
    ],
)
def test_a_subject_has_a_context(subject: str, context: str, plain: str) -> None:
    assert context_of(subject) == context
    assert plain_name(subject) == plain


def test_a_name_is_meant_in_a_context() -> None:
    assert qualified(".", "s") == "s"
    assert qualified(".eu", "s") == ":.eu:s"
    assert qualified(".eu", ":.us:s") == ":.us:s"
    assert qualified(".eu", ":.:s") == "s"
    assert normal(":.:s") == "s"
    assert normal(":.:") == ":.:"


def test_a_context_is_named_in_several_ways() -> None:
    assert {context_named(it) for it in ("eu", ".eu", ":.eu:")} == {".eu"}
    assert whole_context(".eu") == ":.eu:"
    assert [is_whole_context(it) for it in (":.eu:", ":.:", ":.eu:s", "s", "::")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("subject", ["", ":.eu:", "__GLOBAL", "__EMPTY", "a\0b", "a\nb", "\x1f"])
def test_some_names_are_refused(subject: str) -> None:
    with pytest.raises(ProblemError) as caught:
        require_valid(subject)
    assert caught.value.code == 42208


@pytest.mark.parametrize("subject", ["s", ":.eu:s", "a/b", "ä 値 🦀", "__GLOBAL_"])
def test_other_names_are_taken(subject: str) -> None:
    require_valid(subject)
