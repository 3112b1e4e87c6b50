"""A thousand prices that change, and the page that shows each of them by a subscription of its own.

Run it with `python feed.py [--brokers HOST:PORT] [--rate HZ] [--port PORT]`. It sends each price to
the topic `prices`, HZ times a second, with the name as the key, and serves `page/`. The page gets
the prices from the fan-out, not from here.
"""

import argparse
import json
import random
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "prices"
PARTITIONS = 12
NAMES = [f"K{number:03}" for number in range(1000)]
PAGE = Path(__file__).with_name("page")
TICK_S = 0.02


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The page is opened once: nothing to tell."""


def create_topic(brokers: str) -> None:
    topic = NewTopic(TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    admin = AdminClient({"bootstrap.servers": brokers, "log_level": 0})
    try:
        admin.create_topics([topic], operation_timeout=10)[TOPIC].result(timeout=10)
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise SystemExit(
                f"no topic at {brokers} ({failure.args[0].str()}): "
                "start a broker with `kafkaesque broker`, or name one with --brokers"
            ) from None


def changes() -> Iterator[tuple[str, float]]:
    """One name after the other, for ever: each price wanders."""
    prices = {name: random.uniform(20, 200) for name in NAMES}
    while True:
        for name in NAMES:
            prices[name] = max(1.0, prices[name] * random.gauss(1, 0.01))
            yield name, round(prices[name], 2)


def complain(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        print(f"not sent to {message.topic()}: {error.str()}", flush=True)


def send(brokers: str, rate: float) -> None:
    """All names `rate` times a second, spread evenly over it."""
    # murmur2, as Java's clients have it: the fan-out learns it, and reads only what is wanted.
    producer = Producer(
        {"bootstrap.servers": brokers, "partitioner": "murmur2_random", "linger.ms": 2}
    )
    prices = changes()
    began, sent = time.monotonic(), 0
    try:
        while True:
            for _ in range(int((time.monotonic() - began) * rate * len(NAMES)) - sent):
                name, price = next(prices)
                producer.produce(
                    TOPIC, json.dumps({"price": price}), key=name, on_delivery=complain
                )
                producer.poll(0)
                sent += 1
            time.sleep(TICK_S)
    finally:
        producer.flush(5)


def serve(port: int) -> ThreadingHTTPServer:
    handler = partial(QuietHandler, directory=str(PAGE))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise SystemExit(
            f"port {port} cannot be had ({error.strerror}): choose another with --port"
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description="A thousand prices that change, and their page.")
    parser.add_argument("--brokers", default="127.0.0.1:9092", metavar="HOST:PORT")
    parser.add_argument("--rate", type=float, default=1.0, help="changes of each price a second")
    parser.add_argument("--port", type=int, default=8000, help="of the page; 0 for a free one")
    options = parser.parse_args()
    create_topic(options.brokers)
    page = serve(options.port)
    print(
        f"{len(NAMES)} prices go to {TOPIC} at {options.brokers}, {options.rate:g} times a second; "
        f"look at http://127.0.0.1:{page.server_port}; stop with Ctrl-C",
        flush=True,
    )
    try:
        send(options.brokers, options.rate)
    except KeyboardInterrupt:
        pass
    finally:
        page.shutdown()


if __name__ == "__main__":
    main()
