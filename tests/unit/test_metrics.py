"""The histogram, the text that Prometheus reads, and the answers of the page that shows it."""

from http import HTTPStatus

import pytest

from kafkaesque.broker.metrics_page import METRICS_PATH, Answer, Pages, response
from kafkaesque.metrics import CONTENT_TYPE, Histogram, exposition, gauge


def pages(text: str) -> Pages:
    return {METRICS_PATH: lambda: Answer(HTTPStatus.OK, CONTENT_TYPE, text)}


def histogram_of(*values: float) -> Histogram:
    histogram = Histogram((0.01, 0.02, 0.5))
    for value in values:
        histogram.observe(value)
    return histogram


def test_buckets_count_all_that_is_not_above_their_bound() -> None:
    metric = histogram_of(0.0, 0.01, 0.011, 0.02, 0.3, 7).metric("delay", "Delay.")
    assert [(sample.suffix, sample.value) for sample in metric.samples[:4]] == [
        ('_bucket{le="0.01"}', 2),
        ('_bucket{le="0.02"}', 4),
        ('_bucket{le="0.5"}', 5),
        ('_bucket{le="+Inf"}', 6),
    ]


def test_a_histogram_knows_sum_count_and_maximum() -> None:
    histogram = histogram_of(0.25, 2, 0.5)
    assert (histogram.sum, histogram.count, histogram.max) == (2.75, 3, 2)


def test_a_histogram_that_has_seen_nothing_is_all_zeros() -> None:
    histogram = histogram_of()
    assert {sample.value for sample in histogram.metric("delay", "Delay.").samples} == {0}
    assert histogram.max == 0


def test_the_text_names_and_explains_each_metric_once() -> None:
    text = exposition([gauge("topics", "Topics.", 3), histogram_of(0.25).metric("delay", "Delay.")])
    assert text == (
        "# HELP topics Topics.\n"
        "# TYPE topics gauge\n"
        "topics 3\n"
        "# HELP delay Delay.\n"
        "# TYPE delay histogram\n"
        'delay_bucket{le="0.01"} 0\n'
        'delay_bucket{le="0.02"} 0\n'
        'delay_bucket{le="0.5"} 1\n'
        'delay_bucket{le="+Inf"} 1\n'
        "delay_sum 0.25\n"
        "delay_count 1\n"
    )


def test_a_get_is_answered_with_the_page() -> None:
    said = response(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", pages("å\n"))
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 3" in head.split(b"\r\n")
    assert body.decode() == "å\n"


def test_a_query_does_not_hide_the_page() -> None:
    assert b"200 OK" in response(b"GET /metrics?name=x HTTP/1.0\r\n\r\n", pages(""))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"GET /metricsx HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed"),
        (b"get /metrics HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"GET /metrics HTTP/2\r\n\r\n", b"400 Bad Request"),
        (b"GET /met rics HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"\x16\x03\x01\r\n\r\n", b"400 Bad Request"),
    ],
)
def test_anything_else_is_refused(head: bytes, status: bytes) -> None:
    said = response(head, {METRICS_PATH: lambda: pytest.fail("the page was asked for")})
    assert said.startswith(b"HTTP/1.1 " + status)
