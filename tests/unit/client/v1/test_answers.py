"""What a server of kafkaesque.v1 says besides records."""

import orjson
import pytest

from kafkaesque.client import v1
from kafkaesque.client.v1 import Gap, GapReason, gap_of


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            v1.subscribed(1, "ticks", {0: 12, 1: 7}),
            '{"type":"subscribed","id":1,"topic":"ticks","position":{"0":12,"1":7}}',
        ),
        (v1.unsubscribed(1, {0: 2}), '{"type":"unsubscribed","id":1,"position":{"0":2}}'),
        (v1.position(1, {}), '{"type":"position","id":1,"position":{}}'),
        (v1.caught_up(1), '{"type":"caught-up","id":1}'),
        (
            v1.gap(1, GapReason.SLOW, 5, [(0, 3, 9)]),
            '{"type":"gap","id":1,"reason":"slow","missed":5,"ranges":[[0,3,9]]}',
        ),
        (v1.error(None, "no"), '{"type":"error","id":null,"message":"no"}'),
        (v1.error(2, "no", 7), '{"type":"error","id":2,"message":"no","position":7}'),
        (v1.pong(), '{"type":"pong"}'),
        (v1.closing("bye", 1001), '{"type":"closing","reason":"bye","code":1001}'),
    ],
)
def test_each_answer_is_the_json_of_the_reference(answer: str, text: str) -> None:
    assert answer == text


def test_a_gap_comes_back() -> None:
    text = v1.gap(1, "expired", None, [(0, 3, 9), (2, 0, 0)])
    gap = gap_of(orjson.loads(text))
    assert gap == Gap(1, GapReason.EXPIRED, None, ((0, 3, 9), (2, 0, 0)))
