"""`python -m benchmarks.predicates`: 1,000 distinct filters over a stream of ticks, on one core.

Five shapes of filter, a fifth of the filters each, over JSON values of about 435 bytes. Every
record comes as bytes: decoding it is part of the figure. The same filters are then evaluated one by
one, over fewer records, with the same decoded value: that they find the same is checked. The last
line is the cost of subscribing and leaving, for filters that are all different ranges.
"""

import argparse
import time
from collections.abc import Callable
from random import Random

import orjson

from kafkaesque.client.filters import Predicate, PredicateIndex, Subject, parse
from kafkaesque.records.record import Record

TICKERS = 2_000
TRADERS = 5_000
VENUES = ("XNAS", "XNYS", "XLON", "XPAR", "XETR", "XTKS")
NOTE = "filled in parts, see the other leg; " * 5


def ticker(random: Random) -> str:
    return f"T{random.randrange(TICKERS):04d}"


def tick(offset: int, random: Random) -> Record:
    name = ticker(random)
    value = {
        "ticker": name,
        "price": round(random.uniform(1, 1_000), 2),
        "volume": random.randrange(1, 10_000),
        "side": random.choice(("buy", "sell")),
        "trader": f"trader-{random.randrange(TRADERS)}",
        "venue": {"mic": random.choice(VENUES), "segment": "main", "country": "US"},
        "flags": [True, False],
        "halted": False,
        "tags": ["equity", "lit", "continuous"],
        "id": f"{random.getrandbits(128):032x}",
        "note": NOTE,
    }
    headers = (("source", b"web" if offset % 2 else b"feed"),)
    return Record(offset, 1_700_000_000_000 + offset, name.encode(), orjson.dumps(value), headers)


def _quote(random: Random) -> str:
    return f'value.ticker == "{ticker(random)}" and value.price > {random.randrange(900)}'


def _basket(random: Random) -> str:
    names = ", ".join(f'"{ticker(random)}"' for _ in range(5))
    return f"value.ticker in ({names}) and value.volume >= {random.randrange(9_000)}"


def _band(random: Random) -> str:
    low = random.uniform(1, 990)
    return f"{low:.3f} <= value.price < {low + random.uniform(0.1, 5):.3f}"


def _desk(random: Random) -> str:
    return (
        f'value.trader == "trader-{random.randrange(TRADERS)}" and value.side == "buy"'
        f' or value.ticker == "{ticker(random)}" and value.venue.mic == "{random.choice(VENUES)}"'
    )


def _family(random: Random) -> str:
    return f'startswith(key, "{ticker(random)[:4]}") and value.volume < {random.randrange(500)}'


SHAPES: tuple[Callable[[Random], str], ...] = (_quote, _basket, _band, _desk, _family)


def distinct(count: int, random: Random) -> list[Predicate]:
    found: dict[Predicate, None] = {}
    while len(found) < count:
        found[parse(SHAPES[len(found) % len(SHAPES)](random))] = None
    return list(found)


def indexed(predicates: list[Predicate]) -> PredicateIndex[int]:
    index: PredicateIndex[int] = PredicateIndex()
    for item, predicate in enumerate(predicates):
        index.add(predicate, item)
    return index


def microseconds(records: list[Record], matches: Callable[[Subject], list[int]]) -> float:
    start = time.process_time()
    for record in records:
        matches(Subject("ticks", 0, record))
    return (time.process_time() - start) * 1e6 / len(records)


def subscribing(count: int) -> tuple[float, float]:
    """Seconds to add and to remove so many different ranges that are parsed already."""
    ranges = [parse(f"{n / 7:.3f} <= value.price < {n / 7 + 3:.3f}") for n in range(count)]
    index: PredicateIndex[int] = PredicateIndex()
    start = time.process_time()
    for item, predicate in enumerate(ranges):
        index.add(predicate, item)
    added = time.process_time()
    for item, predicate in enumerate(ranges):
        index.remove(predicate, item)
    return added - start, time.process_time() - added


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.predicates")
    options.add_argument("--predicates", type=int, default=1_000)
    options.add_argument("--records", type=int, default=100_000)
    chosen = options.parse_args()
    random = Random(7)
    predicates = distinct(chosen.predicates, random)
    records = [tick(offset, random) for offset in range(chosen.records)]
    few = records[: max(1, len(records) // 500)]
    index = indexed(predicates)

    def one_by_one(subject: Subject) -> list[int]:
        return [n for n, predicate in enumerate(predicates) if predicate.matches(subject)]

    subjects = [Subject("ticks", 0, record) for record in few]
    same = all(sorted(index.matches(each)) == one_by_one(each) for each in subjects)
    matched = sum(len(index.matches(Subject("ticks", 0, record))) for record in records[:10_000])
    size = sum(len(record.value or b"") for record in few) / len(few)
    with_index = min(microseconds(records, index.matches) for _ in range(3))
    in_turn = min(microseconds(few, one_by_one) for _ in range(3))
    decoding = min(microseconds(records, lambda each: [each.document()]) for _ in range(3))
    print(f"{len(index)} predicates, {len(records)} records of {size:.0f} B,", end=" ")
    print(f"{matched / min(10_000, len(records)):.2f} matches per record")
    print(
        f"index          {with_index:8.2f} µs/record  {1e6 / with_index:9.0f} records/s of one core"
    )
    print(f"  of it JSON   {decoding:8.2f} µs/record")
    print(f"each in turn   {in_turn:8.2f} µs/record  {1e6 / in_turn:9.0f} records/s of one core")
    print(f"ratio          {in_turn / with_index:8.1f}")
    print(f"same matches   {'yes' if same else 'NO'}")
    added, removed = subscribing(10_000)
    print(f"10,000 ranges  {added:8.3f} s to add, {removed:.3f} s to remove")
    if not same:
        raise SystemExit("the index and the predicates disagree")


if __name__ == "__main__":
    main()
