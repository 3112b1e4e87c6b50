"""kafkaesque.v1: what the fan-out and its clients say to each other, over WebSocket and over TCP.

Records travel in binary event frames (event_frame.py), everything else is JSON: what clients ask
for (requests.py) and what the server says besides records (answers.py). Over WebSocket an event
frame is a binary message and JSON a text message; over TCP each is led by its length as a u32, and
what begins with `{` is JSON. docs/reference/fanout.md tells it to those who write other clients.
Pure. Above: gateway/fanout/, client/subscriber.py. Below: event_json.py, records/record.py.
"""

from kafkaesque.client.v1.answers import (
    Gap,
    GapReason,
    caught_up,
    closing,
    error,
    gap,
    gap_of,
    pong,
    position,
    subscribed,
    unsubscribed,
)
from kafkaesque.client.v1.event_frame import decode_event, encode_event
from kafkaesque.client.v1.requests import (
    SUBPROTOCOL,
    Decode,
    Encoding,
    Ping,
    Policy,
    Position,
    Request,
    Start,
    Subscribe,
    Token,
    Unsubscribe,
    V1Error,
    parse_request,
    request_json,
)

__all__ = [
    "SUBPROTOCOL",
    "Decode",
    "Encoding",
    "Gap",
    "GapReason",
    "Ping",
    "Policy",
    "Position",
    "Request",
    "Start",
    "Subscribe",
    "Token",
    "Unsubscribe",
    "V1Error",
    "caught_up",
    "closing",
    "decode_event",
    "encode_event",
    "error",
    "gap",
    "gap_of",
    "parse_request",
    "pong",
    "position",
    "request_json",
    "subscribed",
    "unsubscribed",
]
