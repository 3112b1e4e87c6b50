"""`GET /topics/{topics}/events`: events as a stream or as a page, told by the header Accept.

    text/event-stream       Server-Sent Events, whose ids resume exactly
    application/x-ndjson    lines; with `until=end`, only what is there
    application/json        a page, with the address of the next (and what a plain curl gets)

And one event by its place. Below: reading.py, streams.py, pages.py, forms.py.
"""

import re
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from kafkaesque.client.filters import FilterError, Predicate, parse
from kafkaesque.errors import ErrorCode
from kafkaesque.gateway.access import Grant
from kafkaesque.gateway.events.forms import NDJSON, SSE, Lines, ServerSentEvents, chosen_form
from kafkaesque.gateway.events.gateway import TheGateway, TheGrant
from kafkaesque.gateway.events.models import Event, EventPage, problems
from kafkaesque.gateway.events.pages import read_page
from kafkaesque.gateway.events.problems import ProblemError, bad_parameter, of_code, unknown_topic
from kafkaesque.gateway.events.reading import Gap, Match, open_reading
from kafkaesque.gateway.events.start import Offset, Resume, Start, parse_start
from kafkaesque.gateway.events.streams import Span, StreamAnswer
from kafkaesque.gateway.events.want import Want

router = APIRouter(tags=["Events"])

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)
_MAX_TOPICS = 100
_DECODE = (
    "`json`: keys and values that have a schema are what they say, with `key_schema_id` and "
    "`value_schema_id` beside them"
)
PAGE_LIMIT = 100
MAX_PAGE_LIMIT = 10_000
MAX_WAIT_S = 60.0

_ABOUT = """\
A stream or a page, as the header `Accept` says:

- `text/event-stream`: Server-Sent Events. Each event's `id` is a vector of the offsets to go on
  with, so that a browser that comes back (`Last-Event-ID`) misses nothing and gets nothing twice.
  `event: gap` tells what retention has removed before it was read, `event: error` why it ends.
- `application/x-ndjson`: an event on each line; with `until=end`, what is there.
- `application/json`: a page, with the address of the next one.
"""


@router.get(
    "/topics/{topics}/events",
    summary="Read events",
    description=_ABOUT,
    response_model=EventPage,
    responses={
        200: {
            "content": {
                SSE: {"example": 'id: 0:12,1:7\ndata: {"topic":"ticks","partition":0,…}\n\n'},
                NDJSON: {"example": '{"topic":"ticks","partition":0,"offset":11,…}\n'},
            }
        },
        **problems(400, 403, 404, 503),
    },
)
async def read_events(
    request: Request,
    gateway: TheGateway,
    grant: TheGrant,
    topics: Annotated[str, Path(description="One topic, or several with commas")],
    topic: Annotated[list[str] | None, Query(description="More topics")] = None,
    start: Annotated[
        str | None,
        Query(
            alias="from",
            description="`earliest`, `latest`, an offset (`12`), a vector (`0:12,1:7`) or a time "
            "(`@1700000000000`, `2026-11-15T19:30:00Z`). Streams begin with the latest, pages and "
            "`until=end` with the earliest.",
        ),
    ] = None,
    last_event_id: Annotated[
        str | None, Query(description="A vector, which wins over `from`: where to go on")
    ] = None,
    last_event_id_header: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
    partition: Annotated[list[int] | None, Query(description="Only these partitions")] = None,
    key: Annotated[list[str] | None, Query(description="Only these keys")] = None,
    prefix: Annotated[str | None, Query(description="Only keys that begin so")] = None,
    where: Annotated[
        str | None,
        Query(description="Only what a filter matches", examples=["value.price > 100"]),
    ] = None,
    limit: Annotated[
        int | None, Query(ge=1, description=f"Events; of a page {PAGE_LIMIT}, if absent")
    ] = None,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT_S, description="Seconds that an empty page may take")
    ] = 0,
    decode: Annotated[Literal["none", "json"], Query(description=_DECODE)] = "none",
    until: Annotated[
        Literal["end"] | None, Query(description="A stream ends when all is read that was there")
    ] = None,
) -> Response:
    want = Want(
        _topics(topics, topic or []),
        None if partition is None else frozenset(partition),
        None if key is None else frozenset(each.encode() for each in key),
        None if prefix is None else prefix.encode(),
        None if where is None else _predicate(where),
        decode == "json",
    )
    _require_grant(grant, want)
    fields = gateway.fields(want)
    form = chosen_form(request.headers.get("accept", ""))
    is_bounded = until is not None or form not in (SSE, NDJSON)
    begin = _start(
        want,
        last_event_id_header or last_event_id,
        start or ("earliest" if is_bounded else "latest"),
    )
    reading = open_reading(gateway.config, want, begin, gateway.schemas)
    if form in (SSE, NDJSON):
        config = gateway.config
        shape = ServerSentEvents(config.retry_ms, fields) if form == SSE else Lines(fields)
        span = Span(limit, until is not None, config.keep_alive_s)
        return StreamAnswer(gateway.streams, reading, shape, span)
    with gateway.streams.place():
        async with reading as opened:
            most = min(limit or PAGE_LIMIT, MAX_PAGE_LIMIT)
            page = await read_page(
                opened, most, wait, gateway.stats, gateway.streams.stopping, fields
            )
    following = _following(request, page.position)
    return JSONResponse({**page._asdict(), "next": following})


@router.get(
    "/topics/{topic}/partitions/{partition}/events/{offset}",
    summary="Read one event",
    response_model=Event,
    response_model_exclude_unset=True,
    responses=problems(400, 403, 404, 503),
)
async def read_event(
    gateway: TheGateway,
    grant: TheGrant,
    topic: str,
    partition: Annotated[int, Path(ge=0, le=2**31 - 1)],
    offset: Annotated[int, Path(ge=0, le=2**63 - 1)],
    decode: Annotated[Literal["none", "json"], Query(description=_DECODE)] = "none",
) -> dict[str, Any]:
    """One event by its place. If there is none at that offset, the answer says which there are."""
    want = Want(_topics(topic, []), frozenset([partition]), decodes=decode == "json")
    _require_grant(grant, want)
    fields = gateway.fields(want)
    start = Offset(offset)
    async with open_reading(gateway.config, want, start, gateway.schemas) as reading:
        ((place, first),) = reading.firsts.items()
        end = reading.ends[place]
        if not first <= offset < end:
            there = f"there are {first} to {end - 1}" if first < end else "it is empty"
            raise of_code(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"partition {partition} of {topic} has no offset {offset}: {there}",
            )
        async for item in reading.items(gateway.config.connection.timeout_s):
            if isinstance(item, Match):
                if item.record.offset == offset:
                    gateway.stats.delivered += 1
                    return fields(*item.place, item.record)
                break
            if isinstance(item, Gap):
                break
    raise of_code(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"nothing is left at offset {offset} of partition {partition} of {topic}: it was compacted "
        "away, or belongs to a transaction; events lie before and after it",
    )


def _topics(path: str, more: list[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys([*path.split(","), *more]))
    for name in names:
        if not _NAME.fullmatch(name):
            raise unknown_topic(repr(name))
    if len(names) > _MAX_TOPICS:
        raise bad_parameter("topic", f"{len(names)} are too many: {_MAX_TOPICS} at most")
    return names


def _predicate(text: str) -> Predicate:
    try:
        return parse(text)
    except FilterError as error:
        raise bad_parameter("where", error.message, position=error.position) from None


def _require_grant(grant: Grant, want: Want) -> None:
    keys = None if want.keys is None else tuple(want.keys)
    for topic in want.topics:
        if refusal := grant.refusal(topic, keys, want.prefix):
            raise ProblemError(403, "TOPIC_AUTHORIZATION_FAILED", refusal)


def _start(want: Want, resume: str | None, text: str) -> Start:
    try:
        start = parse_start(text if resume is None else resume, want.topic)
    except ValueError as error:
        raise bad_parameter("from" if resume is None else "Last-Event-ID", str(error)) from None
    if resume is not None and not isinstance(start, Resume):
        raise bad_parameter("Last-Event-ID", f"{resume!r} is no vector, as in 0:12,1:7")
    return start


def _following(request: Request, position: str) -> str:
    others = [
        (name, value)
        for name, value in request.query_params.multi_items()
        if name not in ("from", "last_event_id")
    ]
    query = urlencode([("from", position), *others], safe=":,/", quote_via=quote)
    return f"{request.url.path}?{query}"
