"""librdkafka's errors as `KafkaError`: its code where Kafka has one, the cause, the cure.

librdkafka has codes of its own for what no broker says (nobody answered, the partition is unknown
to it); they become the nearest of Kafka's. The KafkaException is the cause of what is raised.
Above: delivery.py, producer.py, consumer.py. Below: answers.py.
"""

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from kafkaesque.client.answers import error_code, words_of
from kafkaesque.errors import ErrorCode, KafkaError

_LOCAL = {
    ClientError._MSG_TIMED_OUT: ErrorCode.REQUEST_TIMED_OUT,
    ClientError._TIMED_OUT: ErrorCode.REQUEST_TIMED_OUT,
    ClientError._TIMED_OUT_QUEUE: ErrorCode.REQUEST_TIMED_OUT,
    ClientError._TRANSPORT: ErrorCode.NETWORK_EXCEPTION,
    ClientError._ALL_BROKERS_DOWN: ErrorCode.NETWORK_EXCEPTION,
    ClientError._RESOLVE: ErrorCode.NETWORK_EXCEPTION,
    ClientError._SSL: ErrorCode.NETWORK_EXCEPTION,
    ClientError._AUTHENTICATION: ErrorCode.SASL_AUTHENTICATION_FAILED,
    ClientError._UNKNOWN_TOPIC: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ClientError._UNKNOWN_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ClientError._AUTO_OFFSET_RESET: ErrorCode.OFFSET_OUT_OF_RANGE,
    ClientError._PURGE_QUEUE: ErrorCode.OPERATION_NOT_ATTEMPTED,
    ClientError._PURGE_INFLIGHT: ErrorCode.REQUEST_TIMED_OUT,
    ClientError._FENCED: ErrorCode.PRODUCER_FENCED,
}
_CURES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "make it with `kafkaesque topic create`, or see what "
    "there is with `kafkaesque topic list`",
    ErrorCode.REQUEST_TIMED_OUT: "see whether the brokers run and can be reached from here with "
    "`kafkaesque cluster health`",
    ErrorCode.NETWORK_EXCEPTION: "start a broker with `kafkaesque broker`, or give its address",
    ErrorCode.MESSAGE_TOO_LARGE: "raise max.message.bytes with `kafkaesque topic alter-config`",
    ErrorCode.INVALID_RECORD: "in a compacted topic every event needs a key",
    ErrorCode.OPERATION_NOT_ATTEMPTED: "the producer was closed before it could be sent",
}


def kafka_error(error: ClientError, what: str) -> KafkaError:
    """`what` is a clause about what has failed, to begin the message with."""
    code = _LOCAL.get(error.code(), error_code(error.code()))
    message = f"{what}: {words_of(error).removeprefix('Local: ')}"
    cure = _CURES.get(code)
    raised = KafkaError(code, f"{message}; {cure}" if cure else message)
    raised.__cause__ = KafkaException(error)
    return raised
