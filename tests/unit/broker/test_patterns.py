"""Patterns: what they match, what is refused, and what a match costs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.broker.patterns import MAX_LENGTH, MAX_SIZE, Pattern, PatternError


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("", [""], ["a"]),
        ("abc", ["abc"], ["ab", "abcd", ""]),
        ("a.c", ["abc", "a.c", "a\u00e9c", "a\U0001f600c"], ["a\nc", "ac"]),
        ("orders-.*", ["orders-", "orders-1"], ["order-1", "orders-1\n"]),
        ("[a-c]+", ["a", "abc"], ["", "d"]),
        ("[^a-c]", ["d", "\n", "-"], ["a", "b", "c"]),
        ("[]a]+", ["]a"], ["b"]),
        ("[^]a]", ["b"], ["]", "a"]),
        ("[a-]|[-b]", ["a", "-", "b"], ["c"]),
        (r"[\d-z]+", ["5-z"], ["y"]),
        (r"[\D]", ["a"], ["5"]),
        (r"[a\]\-\n]+", ["a]-\n"], ["b"]),
        (r"\d\D\w\W\s\S", ["1a_- x", "1a_-\tx"], ["1a_-\vx", "\u0661a_- x"]),
        (r"\.\*\\\-\_\/", [r".*\-_/"], []),
        (r"\n\t\r\f\v\a\x41\x{1F600}", ["\n\t\r\f\v\aA\U0001f600"], []),
        ("^a$", ["a"], ["a\n"]),
        (r"\Aa\z", ["a"], []),
        ("a^b|c$d", [], ["ab", "cd"]),
        ("(^a|b)*", ["", "a", "abb", "bb"], ["ba"]),
        ("(a|b(?:c|))d", ["ad", "bcd", "bd"], ["acd"]),
        ("a*b+c?", ["b", "aabbc"], ["a", "bcc"]),
        ("a*?b+?c??", ["b", "aabbc"], ["a"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaaa"], ["a"]),
        ("a{0,2}", ["", "a", "aa"], ["aaa"]),
        ("(ab){1,2}", ["ab", "abab"], ["", "ababab"]),
        ("a{,3}|x{a}|a{2|}|{", ["a{,3}", "x{a}", "a{2", "}", "{"], ["aaa"]),
        ("(a*)*(b|)*", ["", "aab"], ["ba"]),
    ],
)
def test_a_pattern_matches_a_whole_text(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    compiled = Pattern(pattern)
    assert [text for text in matching if not compiled.fullmatch(text)] == []
    assert [text for text in others if compiled.fullmatch(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(a", "a)", "[", "[a", "[]", "[^]", "*", "a|*", "{2}", "+a", "(?", "(*)"),
        *("a**", "a++", "a*??", "a{2}{3}", "a{2}*", "a{2,1}", "a{1001}", "a{1,1001}", "[z-a]"),
        *(
            "\\",
            "a\\",
            r"\1",
            r"\8",
            r"\07",
            r"\e",
            r"\Z",
            r"\b",
            r"\pL",
            r"\Qa\E",
            r"\C",
            r"\u0041",
        ),
        *(r"\x", r"\x4", r"\x{}", r"\x{110000}", r"[a-\d]", r"[\b]", "[[:alpha:]]"),
        *("(?i)a", "(?P<n>a)", "(?<n>a)", "(?=a)", "(?!a)", "(?i:a)"),
    ],
)
def test_what_is_no_pattern_or_not_understood_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * (MAX_LENGTH + 1),
        "((a{100}){100}){100}",
        "(((){1000}){1000}){1000}",
        "(" * 60 + ")" * 60,
        "((a{1000}){1000}){0,1000}",
    ],
)
def test_a_pattern_that_would_cost_too_much_is_refused_at_once(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a?" * 26 + "a" * 26,
        "(a+)+b",
        "(a|a)*b",
        "(a*)*(a*)*(a*)*b",
        "((a|b)*c?){30}",
        "(.*a){30}",
        "[" + "ac" * 400 + "]*b",
    ],
)
def test_the_cost_of_a_match_grows_with_the_text_and_no_faster(pattern: str) -> None:
    """In steps, each of which looks at one place of the pattern."""

    def steps(length: int) -> int:
        compiled = Pattern(pattern)
        compiled.fullmatch("a" * length)
        return compiled.steps

    assert steps(2_000) <= 2.1 * steps(1_000)
    assert steps(1_000) <= 1_000 * 3 * MAX_SIZE


def test_a_long_match_is_made_in_slices() -> None:
    matching = Pattern("(.*a){50}").matching("a" * 5_000)
    assert sum(1 for _ in matching) > 10


ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\w", r"\W", r"\s", r"\.", "^", "(?:)", "[b-]"]
)
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{1,}", "{0,2}", "{2,3}"])


def grown(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(patterns, patterns).map("".join),
        st.tuples(patterns, patterns).map("|".join),
        st.tuples(patterns, QUANTIFIERS).map(lambda pair: f"({pair[0]}){pair[1]}"),
        st.tuples(patterns, QUANTIFIERS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


PATTERNS = st.recursive(ATOMS, grown, max_leaves=8)
TEXTS = st.text(alphabet="abc1 .-", max_size=6)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=5))
def test_a_pattern_matches_what_pythons_own_engine_says(pattern: str, texts: list[str]) -> None:
    compiled, oracle = Pattern(pattern), re.compile(pattern, re.ASCII)
    for text in texts:
        assert compiled.fullmatch(text) == (oracle.fullmatch(text) is not None)


@given(st.text(alphabet="ab(|)[]^$*+?{},12\\dx-.", max_size=12), TEXTS)
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    try:
        compiled = Pattern(pattern)
    except PatternError:
        return
    compiled.fullmatch(text)
