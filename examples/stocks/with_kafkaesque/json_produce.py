"""Publish a made-up stock tick to `stock_json_topic` every second, until Ctrl-C.

Run it with `python json_produce.py [BROKERS]`.
"""

import random
import sys
import time
from datetime import datetime

from kafkaesque import Producer

TICKERS = ["AAPL", "AMZN", "GOOG", "MSFT"]
BROKERS = sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"

try:
    with Producer(BROKERS, "stock_json_topic") as producer:
        while True:
            tick = {
                "event_time": datetime.now().isoformat(timespec="microseconds"),
                "ticker": random.choice(TICKERS),
                "price": round(random.uniform(1, 100), 2),
            }
            partition, offset = producer.send(value=tick, key=tick["ticker"]).result()
            print(f"published {tick} to partition {partition}, offset {offset}", flush=True)
            time.sleep(1)
except KeyboardInterrupt:
    pass
