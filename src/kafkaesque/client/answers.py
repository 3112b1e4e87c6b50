"""What a cluster answers, made plain: librdkafka's futures become results, a `Status`, or a
`ClusterError`.

A broker's refusal concerns one thing that was asked for, and becomes that thing's `Status`. What
librdkafka says itself (nobody answered, nobody listens) concerns them all, and is raised.
Above: groups.py, offsets.py, seek.py, cluster.py. Below: connection.py.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from kafkaesque.client.connection import ClusterError, Connection, UnansweredError
from kafkaesque.errors import ErrorCode

T = TypeVar("T")

OK = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class Status:
    """How it went for one thing, and what to do if it went wrong."""

    name: str
    code: ErrorCode = OK
    message: str = ""
    cure: str = ""

    @property
    def error(self) -> str | None:
        return None if self.code is OK else self.code.name

    def __str__(self) -> str:
        if self.code is OK:
            return "OK"
        return ": ".join([self.code.name, "; ".join(filter(None, [self.message, self.cure]))])


def answer(future: "Future[T]", connection: Connection) -> T:
    """The result. Raises KafkaException for what a broker refuses, else ClusterError."""
    try:
        return future.result()
    except KafkaException as error:
        raise_if_local(error, connection)
        raise


def started(call: Callable[..., T], *arguments: Any, connection: Connection) -> T:
    """Start a call; confluent_kafka refuses some arguments itself, such as an empty name."""
    try:
        return call(*arguments, request_timeout=connection.timeout_s)
    except ValueError as error:
        raise ClusterError(f"{error}: correct the command line") from None


def metadata(client: Any, connection: Connection) -> Any:
    """Brokers, topics and partitions, all from one answer: confluent_kafka's ClusterMetadata."""
    try:
        return client.list_topics(timeout=connection.timeout_s)
    except KafkaException as error:
        raise unanswered(error, connection) from None


def raise_if_local(error: KafkaException, connection: Connection) -> None:
    # librdkafka's own errors are below -1; -1 is Kafka's UNKNOWN_SERVER_ERROR.
    if error.args[0].code() < ErrorCode.UNKNOWN_SERVER_ERROR:
        # What was under way when a connection broke is not sent again: it may have been done.
        is_cut_off = error.args[0].code() == KafkaError._TRANSPORT
        raise (_cut_off if is_cut_off else unanswered)(error, connection) from None


def unanswered(error: KafkaException, connection: Connection) -> UnansweredError:
    return UnansweredError(
        f"no answer from {connection.bootstrap_servers} within {connection.timeout_s:g} s "
        f"({error.args[0].str()}): if a Kafka broker listens there, see that the address it "
        "advertises (`kafkaesque broker --advertise`) can be reached from here"
    )


def _cut_off(error: KafkaException, connection: Connection) -> UnansweredError:
    return UnansweredError(
        f"no answer from {connection.bootstrap_servers}: the connection broke before it came "
        f"({error.args[0].str()}); see that the broker runs (its log says why it ended), and try "
        "again: what was asked for may be done already"
    )


def code_of(error: KafkaError) -> ErrorCode:
    return error_code(error.code())


def error_code(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:  # A newer cluster may have codes that we do not know.
        return ErrorCode.UNKNOWN_SERVER_ERROR


def words_of(error: KafkaError) -> str:
    """What a broker said, without what librdkafka puts before it."""
    return error.str().rpartition("Broker: ")[2].rstrip(".")
