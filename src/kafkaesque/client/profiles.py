"""librdkafka's settings for our clients: two profiles, and whatever a program adds by name.

`linger_ms=5` and `settings={"linger.ms": 5}` say the same; a name or value that librdkafka does
not know is a ValueError that names it. docs/reference/clients.md has the profiles as a table.
Above: producer.py, consumer.py. Below: connection.py.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

from confluent_kafka import KafkaException

from kafkaesque.client.connection import DEFAULT_PORT, Address, Connection

T = TypeVar("T")

Profile: TypeAlias = Literal["latency", "throughput"]

DEFAULT_BROKERS = f"127.0.0.1:{DEFAULT_PORT}"

_BOTH: dict[str, Any] = {
    # A broker that restarts is found again within a second.
    "reconnect.backoff.max.ms": 1000,
    # Else a client whose only broker restarts gives that broker up for seconds.
    "metadata.recovery.strategy": "none",
}
_PRODUCER: dict[str, Any] = {
    # Where Java and rpk place a key; librdkafka's own choice is another.
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    "delivery.timeout.ms": 120_000,
    # The broker knows what is too large for its topic.
    "message.max.bytes": 1_000_000_000,
}
_CONSUMER: dict[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A full local queue is looked at again after this; librdkafka's second is a stall.
    "fetch.queue.backoff.ms": 10,
}
PRODUCER_PROFILES: dict[str, dict[str, Any]] = {
    "latency": {"linger.ms": 0},
    "throughput": {
        "linger.ms": 20,
        "batch.num.messages": 100_000,
        "compression.type": "lz4",
        "queue.buffering.max.messages": 500_000,
    },
}
CONSUMER_PROFILES: dict[str, dict[str, Any]] = {
    "latency": {"fetch.min.bytes": 1, "fetch.wait.max.ms": 100},
    "throughput": {
        "fetch.min.bytes": 65_536,
        "fetch.wait.max.ms": 100,
        "fetch.message.max.bytes": 8_388_608,
        "queued.min.messages": 500_000,
        "queued.max.messages.kbytes": 262_144,
    },
}


def connection_of(brokers: str | Connection) -> Connection:
    """A Connection as it is; HOST:PORT,… as one. Without a port it is Kafka's."""
    if isinstance(brokers, Connection):
        return brokers
    return Connection(brokers=tuple(_address(part) for part in brokers.split(",")))


def producer_config(
    connection: Connection, profile: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    config = connection.config() | _BOTH | _PRODUCER | _of(PRODUCER_PROFILES, profile)
    if str(more.get("acks", "all")) not in ("all", "-1"):
        # A producer that does not wait for all cannot be idempotent.
        config["enable.idempotence"] = False
    return config | dict(more)


def consumer_config(
    connection: Connection, profile: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    return connection.config() | _BOTH | _CONSUMER | _of(CONSUMER_PROFILES, profile) | dict(more)


def named(settings: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Both ways to give settings, as librdkafka spells them."""
    spelled = {
        name if name == "log_level" else name.replace("_", "."): value
        for name, value in keywords.items()
    }
    return spelled | dict(settings or {})


def made(kind: Callable[[dict[str, Any]], T], config: dict[str, Any]) -> T:
    """A client of librdkafka. Raises ValueError for a setting that it does not know."""
    try:
        return kind(config)
    except KafkaException as error:
        raise ValueError(
            f"{error.args[0].str()}: see librdkafka's list of settings; "
            "a keyword has _ where the setting has a dot"
        ) from error


def _of(profiles: dict[str, dict[str, Any]], profile: str) -> dict[str, Any]:
    if profile not in profiles:
        raise ValueError(f"there is no profile {profile!r}: use {' or '.join(profiles)}")
    return profiles[profile]


def _address(text: str) -> Address:
    host, colon, port = text.strip().rpartition(":")
    if not colon or port.endswith("]"):
        host, port = text.strip(), str(DEFAULT_PORT)
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT, as in {DEFAULT_BROKERS}")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))
