"""Deep links: every name survives its address, however often somebody decodes it."""

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.console.addresses import group_path, name_in, topic_path


def segment(path: str) -> str:
    return path.removeprefix("/groups/")


def test_an_ordinary_name_reads_as_itself() -> None:
    assert topic_path("payments.dead-letter_1") == "/topics/payments.dead-letter_1"
    assert name_in("python-consumer") == "python-consumer"


def test_a_name_typed_by_hand_is_understood() -> None:
    assert name_in("my%20group") == name_in("my group") == "my group"


@given(st.text(min_size=1))
def test_every_name_is_found_in_its_address(name: str) -> None:
    path = segment(group_path(name))
    assert "/" not in path
    assert path.isascii()
    assert name_in(path) == name
    assert name_in(unquote(path)) == name
