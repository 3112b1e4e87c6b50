"""Bodies of requests, within limits: one as a whole, or line by line as it comes.

Above: write.py. Below: problems.py.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple

from fastapi import Request

from kafkaesque.gateway.events.problems import too_large

_MOST_LINES = 1000


class Line(NamedTuple):
    number: int
    text: bytes


async def whole_body(request: Request, limit: int) -> bytes:
    claimed = request.headers.get("content-length", "")
    if claimed.isdigit() and int(claimed) > limit:
        raise too_large(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


async def lines_of(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[list[Line]]:
    """The lines that are not empty, as many as have come; their numbers count all lines.

    Raises ProblemError for a line that is longer than the limit, after those before it.
    """
    rest = bytearray()
    number = 0
    async for chunk in chunks:
        rest += chunk
        *whole, last = rest.split(b"\n") if b"\n" in chunk else [rest]
        rest = last
        for start in range(0, len(whole), _MOST_LINES):
            part = whole[start : start + _MOST_LINES]
            yield [
                Line(number + at, bytes(text)) for at, text in enumerate(part, 1) if text.strip()
            ]
            number += len(part)
        if len(rest) > limit:
            raise too_large(limit, line=number + 1)
    if rest.strip():
        yield [Line(number + 1, bytes(rest))]
