"""Print the stock ticks of `stock_json_topic` from the earliest on, until Ctrl-C.

Run it twice, and the two share the partitions out; stop and start it, and it goes on where it was:
both because of its group.

Run it with `python json_consume.py [BOOTSTRAP_SERVERS]`.
"""

import json
import sys

from confluent_kafka import Consumer

TOPIC = "stock_json_topic"

c = Consumer(
    {
        "bootstrap.servers": sys.argv[1] if len(sys.argv) > 1 else "localhost:19092",
        "group.id": "python-consumer",
        "auto.offset.reset": "earliest",
    }
)
c.subscribe([TOPIC])

try:
    while True:
        message = c.poll(1.0)
        if message is None:
            continue
        if error := message.error():
            print(f"not read: {error}", flush=True)
            continue
        tick = json.loads(message.value() or b"")
        place = f"partition {message.partition()}, offset {message.offset()}"
        print(
            f"{tick['event_time']}  {tick['ticker']:<4}  {tick['price']:>6.2f}  ({place})",
            flush=True,
        )
except KeyboardInterrupt:
    pass
finally:
    c.close()
