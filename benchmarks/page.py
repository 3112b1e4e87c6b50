"""docs/reference/performance.md, made from a report so that no figure in it is typed by hand.

Above: __main__.py, which writes it when told to. Below: table.py.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.bars import missed, tally
from benchmarks.figures.catalogue import FIGURES
from benchmarks.peers.roster import PEERS
from benchmarks.report import Report
from benchmarks.table import as_markdown

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "performance.md"
FAIRNESS = """\
## What was done to be fair

- Both brokers run on this machine, on the same disk, one process each. The client is the same,
  with the same settings, and shares the cores with the broker that it drives: acks=all, no
  compression, `linger.ms` 5 and `batch.size` 1 MB for rates, `linger.ms` 0 for single records,
  `fetch.message.max.bytes` 4 MB.
  Kafka's settings are its defaults but for its own topics (one replica, one partition) and the
  delay of a group's first rebalance (none), which these figures do not use. Its Java has the flags
  of Kafka's own start script.
- Turns alternate: each round measures one variant after the other, and the table shows the median
  of the rounds.
- Java compiles while it runs, so that a broker in Java is slow at first and then faster. `rate` and
  `trip` are taken at both temperatures. *Just started*: all peers are started, and the rounds begin
  at once, the first of them counting as the others do; the median is what a user sees in the first
  minute. *Warm* (`rate-warm`, `trip-warm`, and the figures after them): all peers are started anew,
  and each gets three rounds of two loads, in and out, that are not measured. The bars are the same
  for both. Figures that start a broker of their own say what they do before the clock runs.
- Half a load is half of what Kafka took of one plain load just before. Each peer gets one, so that
  none is warmer for it.
- Kafkaesque runs with its page of metrics, at its own cost, because the delay of its event loop is
  read from there before and after each turn on a broker that is just started or warm. For these two
  rows the worst round counts, not the median. Topics are created and deleted within the turn.
- The memory of a virtual machine costs its first user 2 s of kernel time per GB. So before each
  load that much memory is used and given back, for every peer alike.
- Ten producers are ten clients in one process, fed by one thread in turns; that takes the least
  CPU from the broker.
- librdkafka stops fetching for a second whenever its queue is full, which punishes the broker that
  is faster than the reader: `fetch.queue.backoff.ms` is 1, for every peer alike.
- What arrived is counted in the log after each load. A record that is missing ends the run with
  an error.
- Kafka acknowledges before its bytes are on the disk. So `caching` is the like-for-like column,
  and `durable` promises more. `Kafka synced` promises what `durable` does.
"""


def page(report: Report) -> str:
    return "\n".join(
        (
            "# Performance",
            "",
            "Kafkaesque beside Apache Kafka on one machine, in one run. Made by",
            f"`{report.command}` on {report.taken[:10]},",
            f"in {report.seconds / 60:.0f} minutes.",
            "`make bench` takes it anew: it needs Java and Maven, and fetches Kafka. Another",
            "machine has other figures, and ratios that differ less.",
            "",
            ", ".join(f"{name} {version}" for name, version in report.versions.items()) + ".",
            "",
            *_columns(report),
            "",
            *_summary(report),
            "",
            *_figures(report),
            FAIRNESS,
        )
    )


def _columns(report: Report) -> Iterator[str]:
    yield "| column | what |"
    yield "| --- | --- |"
    meanings = {variant.name: variant.meaning for peer in PEERS for variant in peer.variants}
    for name in report.variants:
        yield f"| {name} | {meanings[name]} |"
    yield f"| ratio | the column before it, over {report.reference}'s |"
    yield "| bars | what we hold ourselves to: a ratio (×), or the figure itself |"


def _summary(report: Report) -> Iterator[str]:
    failures = missed(report.rows)
    yield f"{tally(report.rows)}. Missed:" if failures else f"{tally(report.rows)}."
    for row, bar in failures:
        yield f"- `{row.figure}`: {row.name}, {row.unit}: {bar}"


def _figures(report: Report) -> Iterator[str]:
    for figure in FIGURES:
        rows = [row for row in report.rows if row.figure == figure.name]
        if rows:
            rounds = max(len(values) for row in rows for values in row.samples.values())
            yield from (f"## `{figure.name}`", "", figure.meaning)
            yield from (f"Rounds: {rounds}, on {figure.start.value}.", "")
            yield from (as_markdown(report, rows), "")
