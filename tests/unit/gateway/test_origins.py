"""Which web pages may connect."""

import pytest

from kafkaesque.gateway.origins import origin_allowed


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, None),
        (None, "any:8083"),
        ("http://localhost:8083", "localhost:8083"),
        ("https://example.org", "example.org"),
        ("https://Example.org", "example.org:443"),
        ("http://[::1]:8083", "[::1]:8083"),
    ],
)
def test_programs_and_pages_of_the_same_server_may(origin: str | None, host: str | None) -> None:
    assert origin_allowed(origin, host, ())


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8083"),
        ("http://evil.example", "localhost:8083"),
        ("https://example.org", "example.org:80"),
        ("null", "localhost:8083"),
        ("null", "null"),
        ("", ""),
        ("http://localhost:8083", None),
    ],
)
def test_other_pages_may_not(origin: str, host: str | None) -> None:
    assert not origin_allowed(origin, host, ())


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://app.example.org", "https://app.example.org"),
        ("https://app.example.org", "https://app.example.org/"),
        ("https://app.example.org:443", "https://app.example.org"),
        ("https://app.example.org", "HTTPS://*.example.org"),
        ("http://localhost:5173", "http://localhost:*"),
        ("http://localhost", "http://localhost:*"),
        ("null", "null"),
        ("null", "*"),
        ("moz-extension://x", "*"),
    ],
)
def test_pages_of_the_list_may(origin: str, allowed: str) -> None:
    assert origin_allowed(origin, "localhost:8083", ("https://other.example", allowed))


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://app.example.org", "https://app.example.org"),
        ("https://app.example.org:8443", "https://app.example.org"),
        ("https://example.org", "https://*.example.org"),
        ("https://evil.example/.example.org", "https://*.example.org"),
        ("https://a.example.org.evil.example", "https://*.example.org"),
        ("http://localhost:8083", "https://app.example.org"),
    ],
)
def test_with_a_list_no_others_may(origin: str, allowed: str) -> None:
    assert not origin_allowed(origin, "localhost:8083", (allowed,))
