"""A dead letter carries the original's headers and the reason."""

from kafkaesque.client.app.dead_letters import MAX_REASON_CHARACTERS, DeadLetter
from kafkaesque.event import Event


def letter(error: Exception, *headers: tuple[str, bytes | None]) -> DeadLetter:
    event = Event("orders", 2, 17, 1_700_000_000_000, b"k", b"v", list(headers))
    return DeadLetter("orders.dead", event, "billing", error, attempts=4)


def test_the_reason_and_the_place_follow_the_originals_headers() -> None:
    source = ("source", b"web")
    assert letter(ValueError("no price"), source, source).headers == [
        source,
        source,
        ("kafkaesque.error", b"no price"),
        ("kafkaesque.error.type", b"builtins.ValueError"),
        ("kafkaesque.topic", b"orders"),
        ("kafkaesque.partition", b"2"),
        ("kafkaesque.offset", b"17"),
        ("kafkaesque.timestamp", b"1700000000000"),
        ("kafkaesque.group", b"billing"),
        ("kafkaesque.attempts", b"4"),
    ]


def test_a_dead_letter_that_fails_again_has_the_new_reason_alone() -> None:
    first = letter(ValueError("first")).headers
    again = letter(KeyError("second"), *first).headers
    assert [value for name, value in again if name == "kafkaesque.error"] == [b"'second'"]


def test_a_long_reason_is_cut_and_an_empty_one_is_the_class() -> None:
    assert len(dict(letter(ValueError("x" * 10_000)).headers)["kafkaesque.error"] or b"") == (
        MAX_REASON_CHARACTERS
    )
    assert dict(letter(TimeoutError()).headers)["kafkaesque.error"] == b"TimeoutError"
