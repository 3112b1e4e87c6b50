"""Position vectors: what they look like, and what is none."""

import pytest

from kafkaesque.client.vectors import Vector, format_vector, parse_vector
from kafkaesque.types import TopicPartition

TICKS = {TopicPartition("ticks", 0): 12, TopicPartition("ticks", 1): 7}
BOTH = {TopicPartition("a", 0): 12, TopicPartition("b.c-d_e", 1): 7}


def test_the_vector_of_one_topic_has_no_names() -> None:
    assert format_vector(TICKS, "ticks") == "0:12,1:7"
    assert parse_vector("0:12,1:7", "ticks") == TICKS


def test_the_vector_of_several_topics_names_them() -> None:
    assert format_vector(BOTH) == format_vector(BOTH, "a") == "a/0:12,b.c-d_e/1:7"
    assert parse_vector("a/0:12,b.c-d_e/1:7") == BOTH


def test_nothing_is_an_empty_vector() -> None:
    assert format_vector({}) == ""
    assert parse_vector("") == parse_vector(" ") == {}


def test_names_and_blanks_are_welcome_in_a_vector_of_one_topic() -> None:
    assert parse_vector("ticks/0:12, 1:7", "ticks") == TICKS


@pytest.mark.parametrize(
    ("text", "topic", "reason"),
    [
        ("12", "ticks", "'12' is not PARTITION:OFFSET"),
        ("0:-1", "ticks", "'0:-1' is not PARTITION:OFFSET"),
        ("0:1,", "ticks", "'' is not PARTITION:OFFSET"),
        ("a b/0:1", "ticks", "is not PARTITION:OFFSET"),
        ("0:1,ticks/0:2", "ticks", "partition 0 of ticks is there twice"),
        ("0:1", None, "does not say of which topic"),
        ("9999999999:1", "ticks", "beyond the numbers"),
        ("0:9999999999999999999", "ticks", "beyond the numbers"),
        ("٠:١", "ticks", "is not PARTITION:OFFSET"),
    ],
)
def test_what_is_no_vector_is_refused_with_the_reason(
    text: str, topic: str | None, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_vector(text, topic)


def test_a_vector_moves_on_and_takes_new_partitions() -> None:
    vector = Vector(TICKS, "ticks")
    vector.move(TopicPartition("ticks", 0), 13)
    vector.move(TopicPartition("ticks", 2), 1)
    assert str(vector) == format_vector(vector.positions, "ticks") == "0:13,1:7,2:1"
    assert str(Vector(BOTH)) == format_vector(BOTH)
