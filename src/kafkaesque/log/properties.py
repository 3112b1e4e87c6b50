"""The small text files of a data directory, in Kafka's formats.

    meta.properties                       name=value lines
    partition.metadata                    version: 0 | topic_id: <base64url uuid, no padding>
    recovery-point-offset-checkpoint,     a version line (0), a line with the number of entries,
    log-start-offset-checkpoint,          then `topic partition offset` lines
    cleaner-offset-checkpoint

Parsers return None for what they cannot read: these files say where to begin, never what is true.
Above: directory.py. Below: nothing.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from uuid import UUID

from kafkaesque.types import TopicPartition

_MOST_DIGITS = 19
"""An offset has 63 bits."""


def format_uuid(value: UUID) -> str:
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


def parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(bytes=urlsafe_b64decode(text + "=="))
    except (ValueError, NotBase64):
        return None


def format_properties(values: Mapping[str, str]) -> bytes:
    return "".join(f"{name}={value}\n" for name, value in values.items()).encode()


def parse_properties(data: bytes) -> dict[str, str] | None:
    lines = _lines(data)
    if lines is None:
        return None
    pairs = [line.partition("=") for line in lines if not line.startswith("#")]
    if not all(separator for _, separator, _ in pairs):
        return None
    return {name.strip(): value.strip() for name, _, value in pairs}


def format_topic_id(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {format_uuid(topic_id)}\n".encode()


def parse_topic_id(data: bytes) -> UUID | None:
    lines = _lines(data)
    if lines is None or len(lines) != 2 or lines[0] != "version: 0":
        return None
    name, _, value = lines[1].partition(": ")
    return parse_uuid(value) if name == "topic_id" else None


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    lines = [f"{topic} {number} {offset}" for (topic, number), offset in sorted(offsets.items())]
    return "\n".join(["0", str(len(lines)), *lines, ""]).encode()


def parse_offsets(data: bytes) -> dict[TopicPartition, int] | None:
    lines = _lines(data)
    if lines is None or len(lines) < 2 or lines[:2] != ["0", str(len(lines) - 2)]:
        return None
    offsets = {}
    for line in lines[2:]:
        fields = line.split(" ")
        if len(fields) != 3 or not all(map(_is_number, fields[1:])):
            return None
        offsets[TopicPartition(fields[0], int(fields[1]))] = int(fields[2])
    return offsets


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _lines(data: bytes) -> list[str] | None:
    try:
        return [line for line in data.decode().split("\n") if line]
    except UnicodeDecodeError:
        return None
