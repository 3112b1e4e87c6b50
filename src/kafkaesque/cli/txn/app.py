"""`kafkaesque txn …`: the transactions of any Kafka cluster: which are open, since when, and where.

The columns are those that rpk and kafka-transactions.sh have, and the age beside them. A command
over several ids does all it can, and ends with exit code 1 if one failed. Below: abort.py,
producers.py; client/transactions.py, imported on use because it loads librdkafka.
"""

import time
from typing import Annotated

import typer

from kafkaesque.cli.connecting import ClusterCommand, cluster_commands, connect
from kafkaesque.cli.durations import duration_text, parse_duration
from kafkaesque.cli.moments import moment_text
from kafkaesque.cli.options import parse_numbers, parse_states
from kafkaesque.cli.output import Format, OutputFormat, echo_columns, echo_data, echo_table
from kafkaesque.cli.reports import complain
from kafkaesque.cli.txn.abort import abort
from kafkaesque.cli.txn.names import TransactionalIds
from kafkaesque.cli.txn.producers import producers
from kafkaesque.client.transaction import STATES, Transaction, TransactionSummary, age_ms

app = cluster_commands(
    "txn",
    "List, describe and abort transactions.",
    "kafkaesque txn list --older-than 5m && kafkaesque txn describe copier-1",
)

HEADS = ("TRANSACTIONAL-ID", "COORDINATOR", "PRODUCER-ID", "STATE", "AGE")


@app.command("list", cls=ClusterCommand)
def list_transactions(
    context: typer.Context,
    states: Annotated[
        str | None,
        typer.Option(
            "--states",
            "--state",
            "-s",
            metavar="STATE,...",
            show_default=False,
            help="Only ids in these states, as in ongoing,preparecommit.",
        ),
    ] = None,
    producer_ids: Annotated[
        str,
        typer.Option(
            "--producer-id", "-p", metavar="N,...", show_default=False, help="Only these producers."
        ),
    ] = "",
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="DURATION",
            show_default=False,
            help="Only transactions that are open for longer, as in 30s, 5m or 1h30m.",
        ),
    ] = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """List transactional ids, their states, and for how long a transaction has been open.

    An open transaction holds up everybody who reads its partitions with read_committed: they see
    nothing beyond its first record until it ends. One much older than the others is most likely
    that of a producer which hangs or is gone; the cluster aborts it when its timeout is over.

    \b
    Examples:
      kafkaesque txn list
      kafkaesque txn list --state ongoing --older-than 5m
      kafkaesque txn list --producer-id 4000 --format json
    """
    from kafkaesque.client.transactions import Transactions

    wanted = () if states is None else parse_states(states, STATES)
    numbers = parse_numbers(producer_ids, "--producer-id")
    limit_ms = None if older_than is None else parse_duration(older_than)
    found = Transactions.of(connect(context)).list(wanted, numbers)
    now_ms = _now_ms()
    ages = {each: age_ms(each.started_ms, now_ms) for each in found}
    shown = {each: age for each, age in ages.items() if _is_older(age, limit_ms)}
    if output is Format.TABLE:
        echo_table(HEADS, [_summary_row(each, age) for each, age in shown.items()])
    else:
        echo_data([_summary_data(each, age) for each, age in shown.items()], output)


@app.command(cls=ClusterCommand)
def describe(
    context: typer.Context, ids: TransactionalIds, output: OutputFormat = Format.TABLE
) -> None:
    """Show the producer, the state, the timeout and the partitions of transactions.

    Of one that is being ended, those partitions are shown that still lack its marker.

    \b
    Examples:
      kafkaesque txn describe copier-1
      kafkaesque txn describe copier-1 copier-2 --format json
    """
    from kafkaesque.client.transactions import Transactions

    found = Transactions.of(connect(context)).describe(ids)
    transactions = [each for each in found if isinstance(each, Transaction)]
    now_ms = _now_ms()
    if output is Format.TABLE:
        for position, transaction in enumerate(transactions):
            if position:
                typer.echo()
            _print(transaction, now_ms)
    else:
        echo_data([_data(transaction, now_ms) for transaction in transactions], output)
    complain(f"transactional id {it.name}: {it}" for it in found if not isinstance(it, Transaction))


app.command(cls=ClusterCommand)(abort)
app.command(cls=ClusterCommand)(producers)


def _is_older(age: int | None, limit_ms: int | None) -> bool:
    return limit_ms is None or (age is not None and age > limit_ms)


def _summary_row(summary: TransactionSummary, age: int | None) -> tuple[object, ...]:
    return (
        summary.transactional_id,
        summary.coordinator,
        summary.producer_id,
        summary.state,
        duration_text(age),
    )


def _summary_data(summary: TransactionSummary, age: int | None) -> dict[str, object]:
    return {
        "transactional_id": summary.transactional_id,
        "coordinator": summary.coordinator,
        "producer_id": summary.producer_id,
        "state": summary.state,
        "start_timestamp": moment_text(summary.started_ms),
        "age_ms": age,
    }


def _print(transaction: Transaction, now_ms: int) -> None:
    echo_columns(
        [
            ("TRANSACTIONAL-ID", transaction.transactional_id),
            ("COORDINATOR", transaction.coordinator),
            ("PRODUCER-ID", transaction.producer_id),
            ("PRODUCER-EPOCH", transaction.producer_epoch),
            ("STATE", transaction.state),
            ("TIMEOUT", duration_text(transaction.timeout_ms)),
            ("START-TIMESTAMP", moment_text(transaction.started_ms)),
            ("AGE", duration_text(age_ms(transaction.started_ms, now_ms))),
        ]
    )
    if transaction.partitions:
        typer.echo()
        echo_table(("TOPIC", "PARTITION"), transaction.partitions)


def _data(transaction: Transaction, now_ms: int) -> dict[str, object]:
    return {
        "transactional_id": transaction.transactional_id,
        "coordinator": transaction.coordinator,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "state": transaction.state,
        "timeout_ms": transaction.timeout_ms,
        "start_timestamp": moment_text(transaction.started_ms),
        "age_ms": age_ms(transaction.started_ms, now_ms),
        "partitions": [place._asdict() for place in transaction.partitions],
    }


def _now_ms() -> int:
    return int(time.time() * 1000)
