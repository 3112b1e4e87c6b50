"""Brings Kafka's records to a server that cannot fetch them: NATS, or nchan.

confluent-kafka reads all partitions from their ends; what it has at hand is sent in one piece, over
one connection. What the server answers is read and thrown away.

usage: python -m benchmarks.fanout.servers.bridge nats|nchan BOOTSTRAP TOPIC PORT
Above: nats.py, nchan.py.
"""

import socket
import sys
import threading
from collections.abc import Callable

from confluent_kafka import OFFSET_END, Consumer, Message, TopicPartition

Publish = Callable[[str, bytes, bytes], bytes]
AT_MOST = 1000
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"protocol":1}\r\n'


def nats(topic: str, key: bytes, value: bytes) -> bytes:
    return b"PUB %b.%b %d\r\n%b\r\n" % (topic.encode(), key, len(value), value)


def nchan(topic: str, key: bytes, value: bytes) -> bytes:
    return b"POST /pub?id=%b.%b HTTP/1.1\r\nHost: b\r\nContent-Length: %d\r\n\r\n%b" % (
        topic.encode(),
        key,
        len(value),
        value,
    )


FORMS: dict[str, tuple[bytes, Publish]] = {"nats": (CONNECT, nats), "nchan": (b"", nchan)}


def assigned(bootstrap: str, topic: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bridge",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_END) for number in partitions])
    return consumer


def at_hand(consumer: Consumer) -> list[Message]:
    """Wait for one, and take those that are there with it. (`consume` would wait for all.)"""
    messages = []
    message = consumer.poll(1.0)
    while message is not None:
        if message.error() is None:
            messages.append(message)
        if len(messages) >= AT_MOST:
            break
        message = consumer.poll(0)
    return messages


def discard(connection: socket.socket) -> None:
    """Answer NATS's PINGs, and forget the rest."""
    while data := connection.recv(1 << 18):
        if b"PING\r\n" in data:
            connection.sendall(b"PONG\r\n")


def main(form: str, bootstrap: str, topic: str, port: int) -> None:
    hello, publish = FORMS[form]
    consumer = assigned(bootstrap, topic)
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(hello)
    threading.Thread(target=discard, args=(connection,), daemon=True).start()
    consumer.poll(0.5)
    print("ready", flush=True)
    while True:
        messages = at_hand(consumer)
        parts = (publish(topic, each.key() or b"", each.value() or b"") for each in messages)
        if data := b"".join(parts):
            connection.sendall(data)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
