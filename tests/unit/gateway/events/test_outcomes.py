"""What many outcomes come to, and what is said of each."""

import pytest
from confluent_kafka import KafkaError

from kafkaesque.client.connection import Connection
from kafkaesque.gateway.events.outcomes import Outcome, Refused, Tally, Written, fields, refused

REFUSED = Refused(413, "MESSAGE_TOO_LARGE", "too large", {"line": 3})


@pytest.mark.parametrize(
    ("outcomes", "status", "failed"),
    [
        ([], 200, 0),
        ([Written(0, 1)], 200, 0),
        ([REFUSED, Written(0, 1)], 207, 1),
        ([REFUSED, Refused(400, "A", "b")], 413, 2),
    ],
)
def test_a_tally_has_a_status(outcomes: list[Outcome], status: int, failed: int) -> None:
    tally = Tally()
    for outcome in outcomes:
        tally.note(outcome)
    assert (tally.status, tally.failed) == (status, failed)


def test_each_outcome_is_told() -> None:
    assert fields(Written(2, 41)) == {"partition": 2, "offset": 41}
    assert fields(REFUSED) == {"error": "MESSAGE_TOO_LARGE", "message": "too large", "line": 3}


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, 413, "MESSAGE_TOO_LARGE"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        (KafkaError._UNKNOWN_PARTITION, 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, 403, "TOPIC_AUTHORIZATION_FAILED"),
        (KafkaError._MSG_TIMED_OUT, 504, "REQUEST_TIMED_OUT"),
        (KafkaError.NOT_ENOUGH_REPLICAS, 502, "NOT_ENOUGH_REPLICAS"),
        (KafkaError._FAIL, 502, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_errors_have_kafkas_words_and_a_status(code: int, status: int, error: str) -> None:
    found = refused(KafkaError(code), "ticks", Connection())
    assert (found.status, found.error) == (status, error)
    assert found.message
