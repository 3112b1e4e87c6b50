"""Lines of a body, cut into chunks in every way."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest

from kafkaesque.gateway.events.bodies import Line, lines_of
from kafkaesque.gateway.events.problems import ProblemError

BODY = b'{"a":1}\n\n  \r\n{"b":2}\r\nlast'
LINES = [Line(1, b'{"a":1}'), Line(4, b'{"b":2}\r'), Line(5, b"last")]


def found(chunks: Iterable[bytes], limit: int = 100) -> list[Line]:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def read() -> list[Line]:
        return [line async for lines in lines_of(body(), limit) for line in lines]

    return asyncio.run(read())


@pytest.mark.parametrize("size", range(1, len(BODY) + 1))
def test_lines_are_the_same_however_they_come(size: int) -> None:
    assert found(BODY[at : at + size] for at in range(0, len(BODY), size)) == LINES


def test_a_final_line_end_begins_no_line() -> None:
    assert found([b"a\n"]) == [Line(1, b"a")]
    assert found([]) == []


def test_a_line_that_is_too_long_is_refused_with_its_number() -> None:
    with pytest.raises(ProblemError) as caught:
        found([b"a\n", b"x" * 6, b"x" * 6], limit=10)
    assert (caught.value.status, caught.value.more) == (413, {"line": 2})
