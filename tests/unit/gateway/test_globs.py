"""Patterns of keys: what matches, and what covers every key that begins with a prefix."""

import pytest

from kafkaesque.gateway.globs import covers, matches, tidy


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (b"", b""),
        (b"*", b""),
        (b"*", b"\xff\x00\n"),
        (b"dave", b"dave"),
        (b"d?ve", b"d\nve"),
        (b"eu-*", b"eu-"),
        (b"*-eu-*", b"a-eu-eu-b"),
        (b"*ab", b"aab"),
        (b"**?", b"x"),
    ],
)
def test_a_pattern_matches(pattern: bytes, text: bytes) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (b"", b"a"),
        (b"dave", b"Dave"),
        (b"dave", b"dave2"),
        (b"?", b""),
        (b"?", b"ab"),
        (b"eu-*", b"eu"),
        (b"*ab", b"aba"),
        (b"[ab]", b"a"),
    ],
)
def test_a_pattern_does_not_match(pattern: bytes, text: bytes) -> None:
    assert not matches(pattern, text)


def test_a_hostile_key_takes_no_exponential_time() -> None:
    assert not matches(b"*a" * 20 + b"b", b"a" * 5000)


def test_stars_and_question_marks_have_one_spelling() -> None:
    assert tidy(b"a*?**?b?*??c?") == b"a??*b???*c?"


@pytest.mark.parametrize("prefix", [b"eu-", b"eu-west", b"eu-west-1"])
def test_a_star_at_the_end_covers_longer_prefixes(prefix: bytes) -> None:
    assert covers(b"eu-*", prefix)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [(b"eu-*", b"eu"), (b"eu-*", b""), (b"eu-1", b"eu-1"), (b"*-1", b"eu"), (b"?*", b"")],
)
def test_a_prefix_with_keys_outside_is_not_covered(pattern: bytes, prefix: bytes) -> None:
    assert not covers(pattern, prefix)


def test_all_keys_are_covered_by_a_star_alone() -> None:
    assert covers(b"*", b"")
    assert covers(b"**", b"")
