"""The cells of the compatibility table: what every client must be able to do, a function each.

A cell takes the client and a broker, uses a topic of its own, and asserts. Whatever the client
claims is checked with another client: what it wrote is read back, what it committed is asked for,
what it created is described. Set-up is done by reference.py. Above: test_matrix.py and
test_python_clients.py. Below: drivers.py.
"""

import functools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import foreign
from tests.compat import reference
from tests.compat.drivers import CODECS, CONFLUENT, KAFKA_PYTHON, ForeignClient, Line
from tests.compat.peer import Peer

Records = list[list[str | None]]
Cell = Callable[[ForeignClient, Peer], None]

HEADERS = [["source", "compat"], ["unit", "°C"]]
TEXTS: Records = [[f"key-{number}", f"value-{number}-" + "äbc" * 40] for number in range(18)]
RECORDS: Records = [*TEXTS, [None, "a record without a key"], ["a tombstone", None]]
PARTITION = 1


def create(client: ForeignClient, peer: Peer) -> None:
    topic = foreign.name("created")
    configs = {"retention.ms": "123456789", "cleanup.policy": "compact"}
    client.run(peer.bootstrap, "create", topic=topic, partitions=3, configs=configs)
    (described,) = reference.run(peer.bootstrap, "describe", topic=topic)
    if client.administers:
        assert described["partitions"] == [0, 1, 2]
        assert described["configs"].items() >= configs.items()
    else:
        assert described["partitions"] == [0]


def produce(codec: str, client: ForeignClient, peer: Peer) -> None:
    topic = _topic(peer, RECORDS[:1])
    sent = client.run(peer.bootstrap, "produce", **_batch(topic, codec, RECORDS))
    assert sent == [{"partition": PARTITION, "offset": 1 + at} for at in range(len(RECORDS))]
    for reader in (client, KAFKA_PYTHON if client is CONFLUENT else CONFLUENT):
        assert _read(reader, peer, topic) == _lines([RECORDS[0], *RECORDS]), reader.name
    # A client that doubts the broker sends plain batches without a word: look at what really came.
    segment = peer.data_dir / f"{topic}-{PARTITION}" / "00000000000000000000.log"
    assert set(_codecs(segment)[1:]) == {codec}


def consume_assign(client: ForeignClient, peer: Peer) -> None:
    """Batches of every codec one after the other, as another client wrote them."""
    topic = _topic(peer, [])
    for codec in CODECS:
        batch = _batch(topic, codec, RECORDS)
        if client is CONFLUENT:
            KAFKA_PYTHON.run(peer.bootstrap, "produce", **batch)
        else:
            reference.run(peer.bootstrap, "produce", **batch)
    assert _read(client, peer, topic) == _lines(RECORDS * len(CODECS))


def consume_group(client: ForeignClient, peer: Peer) -> None:
    topic = _topic(peer, RECORDS)
    assert _consume(client, peer, foreign.name("group"), topic, len(RECORDS)) == _lines(RECORDS)


def commit(client: ForeignClient, peer: Peer) -> None:
    topic, group = _topic(peer, RECORDS), foreign.name("group")
    _consume(client, peer, group, topic, 7)
    assert reference.committed(peer.bootstrap, group, topic)[PARTITION] == 7


def resume(client: ForeignClient, peer: Peer) -> None:
    topic, group = _topic(peer, RECORDS), foreign.name("group")
    first = _consume(client, peer, group, topic, 7)
    second = _consume(client, peer, group, topic, len(RECORDS) - 7)
    assert first + second == _lines(RECORDS)


def describe(client: ForeignClient, peer: Peer) -> None:
    topic = foreign.name("described")
    configs = {"retention.bytes": "987654321", "message.timestamp.type": "LogAppendTime"}
    reference.run(peer.bootstrap, "create", topic=topic, partitions=4, configs=configs)
    (described,) = client.run(peer.bootstrap, "describe", topic=topic)
    assert described["partitions"] == [0, 1, 2, 3]
    if client.administers:
        assert described["configs"].items() >= {**configs, "cleanup.policy": "delete"}.items()


CELLS: dict[str, Cell] = {
    "create": create,
    **{codec: functools.partial(produce, codec) for codec in CODECS},
    "assign": consume_assign,
    "group": consume_group,
    "commit": commit,
    "resume": resume,
    "describe": describe,
}


def _topic(peer: Peer, records: Records) -> str:
    topic = foreign.name("cell")
    reference.run(peer.bootstrap, "create", topic=topic, partitions=2, configs={})
    reference.run(peer.bootstrap, "produce", **_batch(topic, "none", records))
    return topic


def _batch(topic: str, codec: str, records: Records) -> dict[str, Any]:
    place = {"topic": topic, "partition": PARTITION}
    return {**place, "codec": codec, "headers": HEADERS, "records": records}


def _read(client: ForeignClient, peer: Peer, topic: str) -> list[Line]:
    return client.run(peer.bootstrap, "consume_assign", topic=topic, partitions=[0, 1])


def _consume(client: ForeignClient, peer: Peer, group: str, topic: str, count: int) -> list[Line]:
    return client.run(peer.bootstrap, "consume_group", group=group, topic=topic, count=count)


def _lines(records: Records) -> list[Line]:
    return [
        {"partition": PARTITION, "offset": offset, "key": key, "value": value, "headers": HEADERS}
        for offset, (key, value) in enumerate(records)
    ]


def _codecs(segment: Path) -> list[str]:
    """The codec of each batch in a segment file: batchLength at byte 8, attributes at 21."""
    data = segment.read_bytes()
    codecs, position = [], 0
    while position + 61 <= len(data) and (
        length := struct.unpack_from(">i", data, position + 8)[0]
    ):
        codecs.append(CODECS[struct.unpack_from(">h", data, position + 21)[0] & 7])
        position += 12 + length
    return codecs
