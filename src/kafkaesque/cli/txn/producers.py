"""`kafkaesque txn producers`: who writes to a topic, and whose open transaction holds readers up.

Above: app.py. Below: topic/names.py; client/producers.py, imported on use because it loads
librdkafka.
"""

from typing import Annotated

import typer

from kafkaesque.cli.connecting import connect
from kafkaesque.cli.moments import moment_text
from kafkaesque.cli.options import parse_numbers
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.reports import complain
from kafkaesque.cli.topic.names import TopicName, choose_partitions, partitions_of
from kafkaesque.client.transaction import PartitionProducer

HEADS = (
    "TOPIC",
    "PARTITION",
    "PRODUCER-ID",
    "PRODUCER-EPOCH",
    "LAST-SEQUENCE",
    "LAST-TIMESTAMP",
    "TXN-START-OFFSET",
    "TRANSACTIONAL-ID",
)


def producers(
    context: typer.Context,
    topic: TopicName,
    partitions: Annotated[
        str, typer.Option("--partitions", "-p", metavar="N,...", help="Only these partitions.")
    ] = "",
    only_open: Annotated[
        bool, typer.Option("--open", help="Only producers with a transaction open there.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show who writes to a topic, and where transactions are open.

    These are the idempotent and transactional producers that a partition remembers. Those who read
    with read_committed wait at the lowest TXN-START-OFFSET. If that producer has no transactional
    id, or one that `txn list` does not show as open, nobody will end the transaction: it hangs.

    \b
    Examples:
      kafkaesque txn producers orders
      kafkaesque txn producers orders --partitions 0,2 --open
    """
    from kafkaesque.client.producers import producers

    numbers = parse_numbers(partitions, "--partitions")
    admin = connect(context)
    told = producers(admin, choose_partitions(partitions_of(admin, [topic]), numbers))
    found = [each for each in told if isinstance(each, PartitionProducer)]
    found.sort(key=lambda each: (each.place, each.producer_id))
    shown = [each for each in found if each.start_offset is not None or not only_open]
    if output is Format.TABLE:
        echo_table(HEADS, [tuple(_data(each).values()) for each in shown])
    else:
        echo_data([_data(each) for each in shown], output)
    complain(f"{it.name}: {it}" for it in told if not isinstance(it, PartitionProducer))


def _data(producer: PartitionProducer) -> dict[str, object]:
    """In the order of HEADS."""
    return {
        "topic": producer.place.topic,
        "partition": producer.place.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp": moment_text(producer.last_timestamp_ms),
        "txn_start_offset": producer.start_offset,
        "transactional_id": producer.transactional_id,
    }
