"""Tokens: what a file may say, what a token allows, and how a file is read again."""

import logging
from hashlib import sha256
from pathlib import Path

import pytest

from kafkaesque.errors import StartError
from kafkaesque.gateway.access import Access, Grant, bearer_token

FILE = f"""
[[token]]
name = "dashboard"
sha256 = "{sha256(b"secret").hexdigest()}"
topics = ["ticks", "orders.*"]
keys = ["AMZN", "eu-*"]
max_connections = 2

[[token]]
name = "operator"
token = "all-of-it"
topics = ["*"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.toml"
    path.write_text(FILE)
    return path


def dashboard(path: Path) -> Grant:
    grant = Access.load(path).grant("secret")
    assert grant is not None
    return grant


def test_without_a_file_everybody_may_read_everything() -> None:
    access = Access.open()
    grant = access.grant(None)
    assert grant is not None
    assert not access.needs_token
    assert grant.refusal("ticks") is None
    assert grant.refusal("ticks", (b"\xff",)) is None
    assert grant.refusal("ticks", None, b"") is None
    assert access.reload()
    assert access.still_gives(grant)


def test_a_file_lets_in_only_who_has_a_token_of_it(path: Path) -> None:
    access = Access.load(path)
    assert access.needs_token
    assert [access.grant(token) for token in (None, "", "secret ", "\udcff")] == [None] * 4
    names = [grant.name for grant in map(access.grant, ("secret", "all-of-it")) if grant]
    assert names == ["dashboard", "operator"]


def test_what_a_token_may_read(path: Path) -> None:
    grant = dashboard(path)
    assert grant.max_connections == 2
    assert grant.refusal("ticks", (b"AMZN",)) is None
    assert grant.refusal("orders.eu", (b"AMZN", b"eu-1")) is None
    assert grant.refusal("ticks", None, b"eu-w") is None


@pytest.mark.parametrize(
    ("keys", "prefix", "named"),
    [
        ((b"AMZN", b"GOOG"), None, "'GOOG'"),
        ((b"\xff",), None, "xff"),
        (None, b"eu", "'eu'"),
        (None, b"", "all keys"),
        (None, None, "all keys"),
    ],
)
def test_what_it_may_not_read_is_refused_with_the_reason(
    path: Path, keys: tuple[bytes, ...] | None, prefix: bytes | None, named: str
) -> None:
    assert named in (dashboard(path).refusal("ticks", keys, prefix) or "")


def test_a_refused_topic_is_named_before_anything_of_it_is_told(path: Path) -> None:
    refusal = dashboard(path).refusal("payroll", (b"GOOG",))
    assert refusal == "this token may not read topic 'payroll'"


def test_reading_again_takes_and_gives_tokens(path: Path) -> None:
    access = Access.load(path)
    before, operator = access.grant("secret"), access.grant("all-of-it")
    assert before is not None
    assert operator is not None
    path.write_text(FILE.replace(sha256(b"secret").hexdigest(), sha256(b"new").hexdigest()))
    assert access.reload()
    assert access.grant("secret") is None
    assert access.grant("new") is not None
    assert not access.still_gives(before)
    assert access.still_gives(operator)


def test_a_file_that_breaks_changes_nothing_and_is_reported(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access = Access.load(path)
    path.write_text("[[token]]\nname = 1")
    with caplog.at_level(logging.ERROR):
        assert not access.reload()
    assert access.grant("secret") is not None
    assert "number 1" in caplog.text
    assert "stay valid" in caplog.text


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[[token", "not TOML"),
        ("", "[[token]]"),
        ("token = 1", "[[token]]"),
        ("token = [1]", "no table"),
        ("user = 1\n[[token]]", "nothing else"),
        ('[[token]]\ntoken = "a"\ntopics = []', "name"),
        ('[[token]]\nname = "a"\ntopics = []', "one of token and sha256"),
        ('[[token]]\nname = "a"\ntoken = "a"\nsha256 = "b"\ntopics = []', "one of"),
        ('[[token]]\nname = "a"\nsha256 = "xyz"\ntopics = []', "64 hexadecimal digits"),
        ('[[token]]\nname = "a"\ntoken = ""\ntopics = []', "not empty"),
        ('[[token]]\nname = "a"\ntoken = "a"', "topics must be a list"),
        ('[[token]]\nname = "a"\ntoken = "a"\ntopics = ["*"]\nkeys = "*"', "keys must be a list"),
        ('[[token]]\nname = "a"\ntoken = "a"\ntopics = []\ntopic = "b"', "'topic'"),
        ('[[token]]\nname = "a"\ntoken = "a"\ntopics = []\nmax_connections = -1', "whole number"),
        (2 * '[[token]]\nname = "a"\ntoken = "a"\ntopics = []\n', "twice"),
    ],
)
def test_a_wrong_file_is_refused_with_the_cause(tmp_path: Path, text: str, cause: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    with pytest.raises(StartError) as caught:
        Access.load(path)
    assert cause in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        Access.load(tmp_path / "tokens.toml")


def test_no_error_shows_a_token(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text('[[token]]\nname = "a"\ntoken = "hidden"\nsha256 = "hidden"\ntopics = []')
    with pytest.raises(StartError) as caught:
        Access.load(path)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        ("Basic abc", None),
        ("Bearer", None),
        ("", None),
        (None, None),
    ],
)
def test_the_token_of_a_header(header: str | None, token: str | None) -> None:
    assert bearer_token(header) == token
