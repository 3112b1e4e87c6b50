"""What /sse may be asked for, and what it says to the rest."""

import pytest

from kafkaesque.client.v1 import Policy
from kafkaesque.gateway.fanout.http_head import BadRequestError, parse_head
from kafkaesque.gateway.fanout.sse_client import Query, query_of
from kafkaesque.gateway.fanout.wants import Wants


def asked(query: str, *headers: str) -> Query:
    lines = [f"GET /sse?{query} HTTP/1.1", "Host: x", *headers, "", ""]
    return query_of(parse_head("\r\n".join(lines).encode()))


def test_keys_headers_and_topics_may_be_several() -> None:
    query = asked("topic=a&topic=b&key=k&key=l&header=source=web&policy=pause&buffer=5")
    assert query.topics == ("a", "b")
    assert query.wants == Wants(keys=(b"k", b"l"), headers=(("source", b"web"),))
    assert (query.policy, query.buffer) == (Policy.PAUSE, 5)
    assert query.starts == {"a": "latest", "b": "latest"}


def test_who_comes_back_goes_on_where_it_was_whatever_the_address_says() -> None:
    query = asked("topic=a&from=earliest", "Last-Event-ID: 0:12,1:7")
    assert query.starts == {"a": {0: 12, 1: 7}}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("key=a", "say which topic"),
        ("topic=a&kye=b", "no parameter 'kye'"),
        ("topic=a&policy=drop", "policy is one of drop-oldest, conflate, pause, disconnect"),
        ("topic=a&buffer=0", "buffer is a number of messages"),
        ("topic=a&from=1&from=2", "from is there twice"),
        ("topic=a&key=b&prefix=c", "give keys or a prefix"),
        ("topic=a&header=source", "is not name=value"),
        ("topic=a&where=value.x+%3E", "where: "),
        ("topic=a&topic=b&from=0:1", "does not say of which topic"),
    ],
)
def test_what_cannot_be_is_said(query: str, words: str) -> None:
    with pytest.raises(BadRequestError, match=words) as caught:
        asked(query)
    assert caught.value.status == 400
