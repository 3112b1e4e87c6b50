"""Patterns against brute force: every text of a small alphabet, up to a length that decides."""

import re
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.gateway.globs import covers, matches

LETTERS = b"abc"
"""`c` is in no pattern: it stands for every byte that a pattern does not name."""
PATTERNS = st.lists(st.sampled_from([b"a", b"b", b"*", b"?"]), max_size=5).map(b"".join)
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=6).map(b"".join)


def as_regex(pattern: bytes) -> "re.Pattern[bytes]":
    pieces = {b"*": b".*", b"?": b"."}
    letters = (pattern[i : i + 1] for i in range(len(pattern)))
    return re.compile(b"".join(pieces.get(letter, letter) for letter in letters), re.DOTALL)


def texts(length: int) -> list[bytes]:
    return [bytes(letters) for n in range(length + 1) for letters in product(LETTERS, repeat=n)]


# A pattern of five pieces that lets a text of its prefix go wrong does so within six more bytes.
ENDINGS = texts(6)


@given(PATTERNS, TEXTS)
def test_matching_is_what_a_regular_expression_says(pattern: bytes, text: bytes) -> None:
    assert matches(pattern, text) == bool(as_regex(pattern).fullmatch(text))


@given(PATTERNS, st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=3).map(b"".join))
def test_a_prefix_is_covered_if_and_only_if_every_key_with_it_matches(
    pattern: bytes, prefix: bytes
) -> None:
    regex = as_regex(pattern)
    assert covers(pattern, prefix) == all(regex.fullmatch(prefix + ending) for ending in ENDINGS)
