"""Print the stock ticks of `stock_avro_topic` from the earliest on, until Ctrl-C.

They come as instances of the class, whatever schema they were written with, as long as that one
fits. Run it with `python avro_consume.py [BROKERS] [REGISTRY_URL]`.
"""

import sys
from datetime import datetime

from pydantic import BaseModel

from kafkaesque import Consumer

BROKERS = sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"
REGISTRY = sys.argv[2] if len(sys.argv) > 2 else "http://localhost:8081"


class StockTick(BaseModel):
    event_time: datetime
    ticker: str
    price: float


try:
    with Consumer(
        "stock_avro_topic",
        BROKERS,
        group="kafkaesque-avro-consumer",
        value="avro",
        schema=StockTick,
        registry=REGISTRY,
    ) as consumer:
        for event in consumer:
            tick: StockTick = event.value
            place = f"partition {event.partition}, offset {event.offset}"
            moment = tick.event_time.isoformat(timespec="microseconds")
            print(f"{moment}  {tick.ticker:<4}  {tick.price:>6.2f}  ({place})", flush=True)
except KeyboardInterrupt:
    pass
