"""docs/reference/fanout-performance.md, made from a report: no figure in it is typed by hand.

Above: __main__.py, which writes it when told to. Below: table.py, bars.py, extrapolation.py.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.fanout import extrapolation, table
from benchmarks.fanout.bars import verdicts
from benchmarks.fanout.report import Report
from benchmarks.fanout.servers.roster import VARIANTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fanout-performance.md"
FAIRNESS = """\
## What was done to be fair

- All on one machine over loopback, in one run. The servers take turns, round after round, each on a
  topic of its own with 12 partitions; the table has the median of the rounds. The broker is
  Kafkaesque with `write.caching=true`, for all of them.
- The load: 512 B values; each key gets a message a second, spread evenly over it by a producer that
  wakes up every 5 ms (confluent-kafka, `linger.ms` 1, `acks=all`, murmur2, no compression), a
  process of its own. Each client wants one key. Rounds that warm up come first and do not count.
- CPU is that of all processes of a server, with the bridge that brings it Kafka's records where it
  cannot fetch them itself: those users have to run one, too. The broker's own is shown beside it,
  and is in no ratio.
- Memory is what the server's processes have grown by when all clients have subscribed (their
  proportional share of it, PSS), and once more after the load. What the kernel holds for the
  sockets is in neither, and is about the same for all.
- Times run from the call of `produce` to the client's `recv`, on the one monotonic clock of the
  machine. Producer, broker, server and clients share the cores: a server that takes much of them
  delays itself, as it would anywhere.
- The clients are one C program on epoll (two from 15,000 connections on), which looks for a mark in
  the bytes and parses no frames: the same for all protocols. It checks that each client gets each
  message of its key once and in order, and no other.
- The sample is our own writing of its design, on Quart as it was, and once more on a leaner
  library; its faults are mended in both. With them it would not get through the load at all: it
  compared each message with the pattern of every client.
- WebSocket compression and pings are off everywhere.
"""


def page(report: Report) -> str:
    return "\n".join((*_head(report), *_body(report), FAIRNESS))


def _head(report: Report) -> Iterator[str]:
    yield "# Performance of the fan-out"
    yield ""
    yield "Kafkaesque's fan-out beside others on one machine, in one run. Made by"
    yield f"`{report.command}` on {report.taken[:10]}, in {report.seconds / 60:.0f} minutes."
    yield "`make bench-fanout` takes it anew. Another machine has other figures, and ratios that"
    yield "differ less."
    yield ""
    yield ", ".join(f"{name} {version}" for name, version in report.versions.items()) + "."
    yield ""
    for name, reason in report.skipped.items():
        yield f"**{name} did not take part: {reason}**"
        yield ""


def _body(report: Report) -> Iterator[str]:
    if report.of("compare"):
        yield from _compare(report)
    if report.of("growth"):
        yield from ("## Growth", "", "kafkaesque.v1 over WebSocket, a key for each client.", "")
        yield from (table.growth(report), "")
        found = extrapolation.costs(report)
        if found is not None:
            yield from ("## A million connections", "", *extrapolation.lines(found), "")
    if report.of("stall"):
        yield from _stall(report)
    if report.of("latency"):
        yield from _latency(report)
    if faults := report.faults():
        yield from ("## Not delivered in time", "", "Turns in which not each message arrived once:")
        yield from ("", *(f"- {fault}" for fault in dict.fromkeys(faults)), "")
    if disturbed := report.disturbed():
        yield from ("## Turns with too little machine", "", "Their times count for less:", "")
        yield from (*(f"- {turn}" for turn in disturbed), "")


def _compare(report: Report) -> Iterator[str]:
    connections = report.of("compare")[0].connections
    yield from (f"## {connections:,} connections", "")
    yield from ("| line | what |", "| --- | --- |")
    meanings = {variant.name: variant.meaning for variant in VARIANTS}
    for name in report.variants("compare"):
        yield f"| {name} | {meanings[name]} |"
    yield from ("", table.compare(report), "", "What we hold ourselves to:", "")
    yield from (f"- {verdict}" for verdict in verdicts(report))
    yield ""


def _stall(report: Report) -> Iterator[str]:
    connections = report.of("stall")[0].connections
    yield from ("## One stalled client", "")
    yield f"Among {connections:,} clients one wants all keys and reads nothing, under each policy;"
    yield "the p99 is that of the others, the median of five windows without it and five with it,"
    yield "in turns. After its window it reads, and is told what it missed. `at most` is the bar: a"
    yield "quarter or 2 ms more than without it, the larger of the two. Memory is the most that the"
    yield "server grew by."
    yield from ("", table.stall(report), "")


def _latency(report: Report) -> Iterator[str]:
    connections = report.of("latency")[0].connections
    yield from ("## Latency, one constant changed at a time", "")
    yield f"{connections:,} connections with a message a second each, over kafkaesque.v1, except"
    yield "where the line says otherwise. From `produce` to `recv`."
    yield from ("", table.latency(report), "")
