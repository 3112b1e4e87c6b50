"""Publish a made-up stock tick to `stock_avro_topic` every second, as Avro, until Ctrl-C.

The schema is derived from the class; it is registered as `stock_avro_topic-value`.
Run it with `python avro_produce.py [BROKERS] [REGISTRY_URL]`.
"""

import random
import sys
import time
from datetime import UTC, datetime

from pydantic import BaseModel

from kafkaesque import Producer

TICKERS = ["AAPL", "AMZN", "GOOG", "MSFT"]
BROKERS = sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"
REGISTRY = sys.argv[2] if len(sys.argv) > 2 else "http://localhost:8081"


class StockTick(BaseModel):
    event_time: datetime
    ticker: str
    price: float


try:
    with Producer(
        BROKERS, "stock_avro_topic", value="avro", schema=StockTick, registry=REGISTRY
    ) as producer:
        while True:
            tick = StockTick(
                event_time=datetime.now(UTC),
                ticker=random.choice(TICKERS),
                price=round(random.uniform(1, 100), 2),
            )
            partition, offset = producer.send(value=tick, key=tick.ticker).result()
            print(f"published {tick!r} to partition {partition}, offset {offset}", flush=True)
            time.sleep(1)
except KeyboardInterrupt:
    pass
