"""Heads of requests, and answers, as bytes."""

import pytest

from kafkaesque.gateway.fanout.http_head import (
    MAX_HEAD_BYTES,
    BadRequestError,
    Request,
    head,
    parse_head,
    response,
)

HEAD = (
    b"GET /sse?topic=ticks&topic=a%20b&key=&where=value.a+%3E+1 HTTP/1.1\r\n"
    b"Host: 127.0.0.1:8083\r\nX-Two:  one \r\nx-two: two\r\n\r\n"
)


def test_a_head_is_read_with_its_query_and_headers() -> None:
    assert parse_head(HEAD) == Request(
        "GET",
        "/sse",
        {"topic": ["ticks", "a b"], "key": [""], "where": ["value.a > 1"]},
        {"host": "127.0.0.1:8083", "x-two": "one, two"},
    )


def test_the_empty_line_may_be_missing() -> None:
    assert parse_head(HEAD.removesuffix(b"\r\n\r\n")) == parse_head(HEAD)
    assert parse_head(b"GET / HTTP/1.0") == Request("GET", "/", {}, {})


@pytest.mark.parametrize(
    ("target", "path"),
    [(b"/", "/"), (b"/a%2Fb", "/a/b"), (b"http://host:1/ws", "/ws"), (b"//x", "//x")],
)
def test_the_path_is_decoded(target: bytes, path: str) -> None:
    assert parse_head(b"GET " + target + b" HTTP/1.1\r\n\r\n").path == path


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\n\r\n", 400),
        (b"G\xc3\x89T / HTTP/1.1\r\n\r\n", 400),
        (b"GET nowhere HTTP/1.1\r\n\r\n", 400),
        (b"GET /\xc3\xa9 HTTP/1.1\r\n\r\n", 400),
        (b"GET /%ff HTTP/1.1\r\n\r\n", 400),
        (b"GET /?a=%ff HTTP/1.1\r\n\r\n", 400),
        (b"GET http://[/ HTTP/1.1\r\n\r\n", 400),
        (b"GET /?" + b"a=1&" * 200 + b" HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nspace : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\na: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\na: \x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
    ],
)
def test_what_is_no_head_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(BadRequestError) as raised:
        parse_head(data)
    assert raised.value.status == status
    assert raised.value.response().startswith(b"HTTP/1.1 %d " % status)


def test_an_answer_ends_the_connection_and_is_text_unless_it_says_otherwise() -> None:
    assert response(404, {"X-A": "b"}, b"nothing here\n") == (
        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nX-A: b\r\n"
        b"Content-Length: 13\r\nConnection: close\r\n\r\nnothing here\n"
    )
    assert b"Content-Type: text/html\r\n" in response(200, {"Content-Type": "text/html"}, b"")


def test_a_head_alone_says_no_length() -> None:
    assert head(200, {"A": "b"}) == b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
