"""Print the stock ticks of `stock_json_topic` from the earliest on, until Ctrl-C.

Run it with `python json_consume.py [BROKERS]`.
"""

import sys

from kafkaesque import Consumer

BROKERS = sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"

try:
    with Consumer("stock_json_topic", BROKERS, group="kafkaesque-consumer") as consumer:
        for event in consumer:
            tick = event.value
            place = f"partition {event.partition}, offset {event.offset}"
            print(
                f"{tick['event_time']}  {tick['ticker']:<4}  {tick['price']:>6.2f}  ({place})",
                flush=True,
            )
except KeyboardInterrupt:
    pass
