"""The fan-out's wire forms against foreign ones: the `websockets` library reads what we write, and
we read what it writes; hostile bytes raise what is promised and nothing else."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from websockets import frames
from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.http11 import Request as TheirRequest
from websockets.protocol import CLIENT, SERVER, Protocol
from websockets.streams import StreamReader
from websockets.uri import parse_uri

from kafkaesque.client.v1 import V1Error, decode_event, encode_event, parse_request
from kafkaesque.gateway.fanout import encodings, websocket
from kafkaesque.gateway.fanout.http_head import BadRequestError, parse_head
from kafkaesque.gateway.fanout.tcp import TcpError, TcpReader, frame
from kafkaesque.gateway.fanout.websocket import Frame, FrameReader, WebSocketError, accept
from kafkaesque.records.record import Record

MOST = 5000
BYTES = st.none() | st.binary(max_size=300)
RECORDS = st.builds(
    Record,
    st.integers(0, 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    BYTES,
    BYTES,
    st.lists(
        st.tuples(
            st.binary(max_size=9).map(lambda name: name.decode(errors="surrogateescape")), BYTES
        ),
        max_size=4,
    ).map(tuple),
)
PAYLOADS = st.binary(max_size=200) | st.integers(0, 70_000).map(bytes)
PIECES = st.lists(st.binary(max_size=60), min_size=1, max_size=4)
MESSAGES = st.lists(
    st.one_of(
        st.tuples(
            st.just("text"), st.lists(st.text(max_size=30).map(str.encode), min_size=1, max_size=4)
        ),
        st.tuples(st.just("binary"), PIECES),
        st.tuples(st.just("ping"), st.tuples(st.binary(max_size=125))),
        st.tuples(st.just("pong"), st.tuples(st.binary(max_size=125))),
    ),
    max_size=6,
)
HOSTILE = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [b"\x81\x80", b"\x01\x80", b"\x80\x80", b"\x88\x82", b"\x82\xff", b"\x82\xfe"]
        ),
    ),
    max_size=12,
).map(b"".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(ends)]


@given(
    st.lists(st.tuples(st.sampled_from(["text", "binary", "ping", "pong"]), PAYLOADS), max_size=5)
)
def test_they_read_what_we_write(sent: list[tuple[str, bytes]]) -> None:
    theirs = Protocol(CLIENT, max_size=None)
    for name, payload in sent:
        data = payload[:125] if name in ("ping", "pong") else payload.replace(b"\xff", b"?")
        data = data if name != "text" else data.decode(errors="replace").encode()
        theirs.receive_data(getattr(websocket, name)(data))
        assert theirs.parser_exc is None
        (event,) = theirs.events_received()
        assert isinstance(event, frames.Frame)
        assert (event.opcode.name.lower(), bytes(event.data), event.fin) == (name, data, True)


@given(st.integers(3000, 4999), st.text(max_size=200))
def test_they_read_our_close(code: int, reason: str) -> None:
    theirs = Protocol(CLIENT)
    theirs.receive_data(websocket.close(code, reason))
    assert theirs.parser_exc is None
    assert theirs.close_rcvd is not None
    assert theirs.close_rcvd.code == code
    assert reason.startswith(theirs.close_rcvd.reason)


@given(MESSAGES, st.lists(st.integers(0, 2000), max_size=8))
def test_we_read_what_they_write(
    messages: list[tuple[str, list[bytes]]], places: list[int]
) -> None:
    theirs = Protocol(CLIENT)
    expected = []
    for name, pieces in messages:
        if name in ("ping", "pong"):
            getattr(theirs, f"send_{name}")(pieces[0])
        else:
            getattr(theirs, f"send_{name}")(pieces[0], fin=len(pieces) == 1)
            for count, piece in enumerate(pieces[1:], 2):
                theirs.send_continuation(piece, fin=count == len(pieces))
        opcode = frames.Opcode[name.upper()].value
        expected.append(Frame(opcode, b"".join(pieces)))
    data = b"".join(theirs.data_to_send())
    reader = FrameReader(MOST)
    assert [frame for piece in cut(data, places) for frame in reader.feed(piece)] == expected


@given(HOSTILE, st.lists(st.integers(0, 500), max_size=8))
def test_we_refuse_the_frames_that_they_refuse(data: bytes, places: list[int]) -> None:
    theirs = Protocol(SERVER, max_size=MOST)
    theirs.receive_data(data)
    ours = _outcome(FrameReader(MOST), [data])
    assert ours == _outcome(FrameReader(MOST), cut(data, places))
    broken = theirs.parser_exc is not None and not isinstance(theirs.parser_exc, EOFError)
    if broken:
        # They wait for a whole header where we judge its first bytes, never the other way round.
        assert isinstance(ours, int)


def _outcome(reader: FrameReader, pieces: list[bytes]) -> int | list[Frame]:
    """The code that it is closed with, or the frames that were read."""
    read: list[Frame] = []
    try:
        for piece in pieces:
            read += reader.feed(piece)
    except WebSocketError as error:
        return error.code
    return read


@given(st.sampled_from(["/ws", "/v1"]), st.none() | st.just("kafkaesque.v1"))
def test_their_handshake_and_ours_agree(path: str, subprotocol: str | None) -> None:
    offered = None if subprotocol is None else ["other", subprotocol]
    client = ClientProtocol(parse_uri(f"ws://127.0.0.1:8083{path}"), subprotocols=offered)  # type: ignore[arg-type]
    client.send_request(client.connect())
    request = parse_head(b"".join(client.data_to_send()))
    assert request.path == path
    client.receive_data(accept(request, subprotocol))
    assert client.handshake_exc is None
    assert client.subprotocol == subprotocol


@given(st.binary(max_size=200), st.sampled_from([b"GET / HTTP/1.1\r\n", b"GET /", b""]))
def test_hostile_heads_are_refused_in_words(data: bytes, before: bytes) -> None:
    refusal = b"HTTP/1.1 "
    try:
        accept(parse_head(before + data), None)
    except BadRequestError as error:
        refusal = error.response()
    assert refusal.startswith(b"HTTP/1.1 ")


@given(
    st.sampled_from([b"GET / HTTP/1.1", b"GET /?a=b&c=%20 HTTP/1.1"]),
    st.dictionaries(
        st.from_regex(r"\A[a-z-]{1,12}\Z"),
        st.from_regex(r"\A[!-~]([ -~]{0,20}[!-~])?\Z"),
        max_size=8,
    ),
)
def test_a_foreign_server_reads_the_same_head(line: bytes, headers: dict[str, str]) -> None:
    data = line + b"\r\n" + b"".join(f"{n}: {v}\r\n".encode() for n, v in headers.items()) + b"\r\n"
    reader = StreamReader()
    reader.feed_data(data)
    parsing = TheirRequest.parse(reader.read_line)
    try:
        next(parsing)
    except StopIteration as done:
        theirs = done.value
    except (ValueError, WebSocketException):
        return
    assert dict(theirs.headers.raw_items()) == parse_head(data).headers


@given(st.lists(st.binary(max_size=300), max_size=6), st.lists(st.integers(0, 2000), max_size=8))
def test_tcp_messages_come_back(payloads: list[bytes], places: list[int]) -> None:
    reader = TcpReader(300)
    stream = b"".join(map(frame, payloads))
    assert [p for piece in cut(stream, places) for p in reader.feed(piece)] == payloads


@given(st.binary(max_size=100))
def test_hostile_tcp_raises_what_is_promised(data: bytes) -> None:
    try:
        TcpReader(50).feed(data)
    except TcpError:
        assert data


@given(st.integers(0, 2**32 - 1), st.text(max_size=20), st.integers(0, 2**31 - 1), RECORDS)
def test_events_come_back(subscription: int, topic: str, partition: int, record: Record) -> None:
    encoded = encode_event(subscription, topic, partition, record)
    number, event = decode_event(encoded)
    assert number == subscription
    assert (event.topic, event.partition) == (topic, partition)
    assert (
        Record(event.offset, event.timestamp, event.key, event.value, tuple(event.headers))
        == record
    )
    assert encodings.v1_tcp(subscription, topic, partition, record)[4:] == encoded


@given(st.binary(max_size=200))
def test_hostile_event_frames_are_value_errors(data: bytes) -> None:
    for attempt in (
        data,
        b"\x01" + data,
        encode_event(1, "t", 0, Record(0, 0, b"k", b"v"))[:30] + data,
    ):
        try:
            decode_event(attempt)
        except ValueError:
            pass


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats()
        | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "id", "topic", "key", "keys", "from", "base64", "headers", "0"]
                ),
                inner | st.sampled_from(["subscribe", "unsubscribe", "position", "token", "t", 1]),
                max_size=6,
            )
        ),
    )
)
def test_hostile_requests_are_v1_errors(value: object) -> None:
    reason = "none"
    try:
        parse_request(json.dumps(value))
    except V1Error as error:
        reason = str(error)
    assert reason
