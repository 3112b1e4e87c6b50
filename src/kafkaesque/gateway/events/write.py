"""`POST /topics/{topic}/events`: events into a topic, in four ways, told by the content type.

    application/json        one event, a list of them, or {"events": […]}
    application/x-ndjson    an event on each line, taken as it comes, in bounded memory
    a form                  refused: it is what curl says if nobody has told it otherwise
    anything else, nothing  the body is the value; key and headers are in Kafkaesque-… headers

Many events in JSON are read completely before the first is sent: a mistake in one means that none
was. Lines are independent: one that cannot be read has its error in its place. With a schema
(encoders.py), keys and values are JSON that it takes, whichever way they come.
Below: new_event.py, bodies.py, encoders.py, writer.py.
"""

import base64
import binascii
import tempfile
from collections.abc import AsyncIterator, Iterable
from typing import IO, Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from kafkaesque.gateway.events.bodies import Line, lines_of, whole_body
from kafkaesque.gateway.events.forms import JSON, NDJSON
from kafkaesque.gateway.events.gateway import Gateway, TheGateway, TheGrant, require_write
from kafkaesque.gateway.events.new_event import (
    Headers,
    InputError,
    NewEvent,
    Shape,
    encoded,
    parse_events,
    parse_json,
    parse_line,
    schemas_named,
    whole_number,
)
from kafkaesque.gateway.events.outcomes import Outcome, Refused, Tally, Written, fields
from kafkaesque.gateway.events.problems import ProblemError
from kafkaesque.gateway.events.write_docs import WRITE_EVENTS

router = APIRouter(tags=["Events"])

_FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}
_LINES = {NDJSON, "application/ndjson", "application/jsonl"}
_KEY = b"kafkaesque-key"
_KEY_BASE64 = b"kafkaesque-key-base64"
_HEADER = b"kafkaesque-header-"
_IN_MEMORY = 1 << 20


@router.post(
    "/topics/{topic}/events",
    summary="Write events",
    **WRITE_EVENTS,
)
async def write_events(
    topic: Annotated[str, Path(description="The topic", examples=["ticks"])],
    request: Request,
    gateway: TheGateway,
    grant: TheGrant,
    value_schema_id: Annotated[
        int | None, Query(description="Of the schema to encode values by: they are JSON then")
    ] = None,
    value_schema: Annotated[
        str | None, Query(description="The same, by subject: its latest version")
    ] = None,
    schema_id: Annotated[int | None, Query(description="As `value_schema_id`")] = None,
    schema: Annotated[str | None, Query(description="As `value_schema`")] = None,
    key_schema_id: Annotated[int | None, Query(description="The same, of keys")] = None,
    key_schema: Annotated[str | None, Query(description="The same, of keys")] = None,
) -> Response:
    require_write(grant, topic)
    named = {
        "value_schema_id": value_schema_id if schema_id is None else schema_id,
        "value_schema": value_schema if schema is None else schema,
        "key_schema_id": key_schema_id,
        "key_schema": key_schema,
    }
    names = {name: value for name, value in named.items() if value is not None}
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    await gateway.require_topic(topic)
    if content_type in _LINES:
        return await _write_lines(topic, request, gateway, await gateway.encoders.shape(names))
    if content_type in _FORMS:
        raise ProblemError(
            415,
            "UNSUPPORTED_MEDIA_TYPE",
            f"{content_type} is no form of events: say -H 'content-type: application/json' for "
            '{"key": …, "value": …}, or text/plain for a body that is the value',
        )
    body = await whole_body(request, gateway.config.max_body_bytes)
    try:
        if content_type == JSON:
            found = await _parsed(body, names, gateway)
        else:
            found = _as_it_is(request, body, await gateway.encoders.shape(names))
    except InputError as error:
        raise ProblemError(400, error.error, str(error), more=error.where) from None
    if isinstance(found, NewEvent):
        return _one_answer(*await gateway.writer.send(topic, [found]))
    return _many_answers(await gateway.writer.send(topic, found))


async def _parsed(
    body: bytes, names: dict[str, Any], gateway: Gateway
) -> NewEvent | list[NewEvent]:
    found = parse_json(body)
    return parse_events(found, await gateway.encoders.shape(names | schemas_named(found)))


def _one_answer(outcome: Outcome) -> JSONResponse:
    return JSONResponse(fields(outcome), 200 if isinstance(outcome, Written) else outcome.status)


def _many_answers(outcomes: list[Outcome]) -> JSONResponse:
    tally = Tally()
    for outcome in outcomes:
        tally.note(outcome)
    results = [fields(outcome) for outcome in outcomes]
    return JSONResponse({"results": results, "failed": tally.failed}, tally.status)


async def _write_lines(topic: str, request: Request, gateway: Gateway, shape: Shape) -> Response:
    """The answers wait in a file until the body has ended: many clients read only then, and the
    status depends on all of them."""
    answers: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    tally = Tally()
    try:
        async for lines in lines_of(request.stream(), gateway.config.max_body_bytes):
            _keep(answers, await _send_lines(topic, lines, gateway, shape), tally)
    except ProblemError as problem:
        refusal = Refused(problem.status, problem.error, problem.message, dict(problem.more))
        _keep(answers, [refusal], tally)
    except BaseException:
        answers.close()
        raise
    answers.seek(0)
    return StreamingResponse(_contents(answers), tally.status, media_type=NDJSON)


async def _send_lines(
    topic: str, lines: list[Line], gateway: Gateway, shape: Shape
) -> list[Outcome]:
    outcomes: list[Outcome | None] = []
    events: list[NewEvent] = []
    for line in lines:
        try:
            events.append(parse_line(line.text, shape))
            outcomes.append(None)
        except InputError as error:
            found = error.in_line(line.number)
            outcomes.append(Refused(400, found.error, str(found), found.where))
    written = iter(await gateway.writer.send(topic, events))
    gateway.stats.refused += len(lines) - len(events)
    return [next(written) if outcome is None else outcome for outcome in outcomes]


def _keep(answers: IO[bytes], outcomes: Iterable[Outcome], tally: Tally) -> None:
    for outcome in outcomes:
        tally.note(outcome)
        answers.write(orjson.dumps(fields(outcome)) + b"\n")


async def _contents(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while chunk := file.read(1 << 16):
            yield chunk


def _as_it_is(request: Request, body: bytes, shape: Shape) -> NewEvent:
    raw = request.headers.raw
    given = dict(raw)
    key = _key(given)
    return NewEvent(
        body if shape.value is None else encoded(parse_json(body), "value", shape.value),
        key if shape.key is None or key is None else encoded(_key_json(key), "key", shape.key),
        _headers(raw),
        _number(given, b"partition", 0, 2**31 - 1),
        _number(given, b"timestamp", 1, 2**63 - 1),
    )


def _key(given: dict[bytes, bytes]) -> bytes | None:
    if _KEY_BASE64 not in given:
        return given.get(_KEY)
    try:
        return base64.b64decode(given[_KEY_BASE64], validate=True)
    except binascii.Error as error:
        raise InputError("INVALID_EVENT", f"Kafkaesque-Key-Base64: {error}") from None


def _key_json(key: bytes) -> Any:
    """In a header nobody quotes a text."""
    try:
        return parse_json(key)
    except InputError:
        return key.decode(errors="replace")


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    return tuple(
        (name.removeprefix(_HEADER).decode("latin-1"), value)
        for name, value in raw
        if name.startswith(_HEADER)
    )


def _number(given: dict[bytes, bytes], name: bytes, least: int, most: int) -> int | None:
    text = given.get(b"kafkaesque-" + name)
    if text is None:
        return None
    number = int(text) if text.isdigit() and len(text) < 20 else -1
    return whole_number(number, f"Kafkaesque-{name.decode().capitalize()}", least, most)
