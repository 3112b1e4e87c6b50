"""`kafkaesque txn abort`: end open transactions, and fence their producers.

It shows what it would end and asks; meanwhile a transaction may end by itself, and then the next
one of its producer is left alone. Where nobody can answer, `--no-confirm` has to say so.
Above: app.py. Below: confirming.py; client/transactions.py, imported on use because it loads
librdkafka.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from kafkaesque.cli.confirming import NoConfirm, require_terminal, require_yes
from kafkaesque.cli.connecting import connect
from kafkaesque.cli.durations import duration_text
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.txn.names import OngoingIds
from kafkaesque.client.transaction import ONGOING, Transaction, age_ms

if TYPE_CHECKING:
    from kafkaesque.client.answers import Status

HEADS = ("TRANSACTIONAL-ID", "PRODUCER-ID", "PRODUCER-EPOCH", "AGE", "PARTITIONS")
QUESTION = "Abort, and fence the producers?"


def abort(
    context: typer.Context,
    ids: OngoingIds,
    no_confirm: NoConfirm = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Abort open transactions, and fence their producers.

    What a transaction has written is then never shown to those who read with read_committed, and
    they read on at once. Its producer gets an error at its next call, and has to be started anew.
    Only an ongoing transaction can be aborted: a commit that is under way is decided.

    \b
    Examples:
      kafkaesque txn abort copier-1
      kafkaesque txn abort copier-1 copier-2 --no-confirm
    """
    from kafkaesque.client.transactions import Transactions

    transactions = Transactions.of(connect(context))
    found = transactions.describe(ids)
    seen = [each for each in found if isinstance(each, Transaction)]
    now_ms = int(time.time() * 1000)
    if not no_confirm:
        _confirm([each for each in seen if each.state == ONGOING], now_ms)
    outcomes = [
        _refused(each)
        if not isinstance(each, Transaction)
        else _outcome(each, transactions.abort(each), now_ms)
        for each in found
    ]
    _report(outcomes, output)


def _confirm(ongoing: Sequence[Transaction], now_ms: int) -> None:
    """Nothing is asked where there is nothing to abort."""
    if not ongoing:
        return
    require_terminal("aborting a transaction")
    rows = [
        (
            each.transactional_id,
            each.producer_id,
            each.producer_epoch,
            duration_text(age_ms(each.started_ms, now_ms)),
            ", ".join(map(str, each.partitions)) or None,
        )
        for each in ongoing
    ]
    echo_table(HEADS, rows)
    require_yes(QUESTION, "Nothing is aborted.")


def _refused(status: "Status") -> dict[str, object]:
    return {
        "transactional_id": status.name,
        "producer_id": None,
        "producer_epoch": None,
        "age_ms": None,
        "error": status.error,
        "status": str(status),
    }


def _outcome(seen: Transaction, status: "Status", now_ms: int) -> dict[str, object]:
    """The producer is the one that is fenced if all went well: with the epoch that it had."""
    age = age_ms(seen.started_ms, now_ms)
    done = (
        f"OK: aborted after {duration_text(age)}; "
        f"producer {seen.producer_id} with epoch {seen.producer_epoch} is fenced"
    )
    return _refused(status) | {
        "producer_id": seen.producer_id,
        "producer_epoch": seen.producer_epoch,
        "age_ms": age,
        "status": str(status) if status.error else done,
    }


def _report(outcomes: Sequence[dict[str, object]], output: Format) -> None:
    if output is Format.TABLE:
        rows = [(outcome["transactional_id"], outcome["status"]) for outcome in outcomes]
        echo_table(("TRANSACTIONAL-ID", "STATUS"), rows)
    else:
        echo_data(outcomes, output)
    if any(outcome["error"] for outcome in outcomes):
        raise typer.Exit(1)
