"""Publish a made-up stock tick to `stock_json_topic` every second, until Ctrl-C.

Run it with `python json_produce.py [BOOTSTRAP_SERVERS]`.
"""

import json
import random
import sys
import time
from datetime import datetime

from confluent_kafka import KafkaError, Message, Producer

TOPIC = "stock_json_topic"
TICKERS = ["AAPL", "AMZN", "GOOG", "MSFT"]

producer = Producer({"bootstrap.servers": sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"})


def complain(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        print(f"not published to {message.topic()}: {error}", flush=True)


try:
    while True:
        ticker = random.choice(TICKERS)
        tick = {
            "event_time": datetime.now().isoformat(timespec="microseconds"),
            "ticker": ticker,
            "price": round(random.uniform(1, 100), 2),
        }
        value = json.dumps(tick)
        producer.produce(TOPIC, key=ticker, value=value, on_delivery=complain)
        producer.flush()
        print(f"published {value}", flush=True)
        time.sleep(1)
except KeyboardInterrupt:
    pass
