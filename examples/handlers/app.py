"""Handlers for stock ticks: run it with `kafkaesque run examples/handlers/app.py`.

`kafkaesque up` sends ticks to stock_json_topic, ten a second, as JSON:
{"event_time": "2023-11-30T14:43:29.700245", "ticker": "AMZN", "price": 74.95}
"""

import asyncio
from collections import defaultdict

from kafkaesque import App, Event
from kafkaesque.client.app import Ack

TOPIC = "stock_json_topic"

app = App("127.0.0.1:9092")


@app.handle(TOPIC, group="printer", start="latest", value="json")
def show(event: Event) -> None:
    """One event at a time. What it raises is retried, then the event goes to TOPIC.dead."""
    tick = event.value
    print(f"{tick['event_time']}  {tick['ticker']:<4}  {tick['price']:>8.2f}")


@app.handle(TOPIC, group="averages", start="latest", value="json", batch=100, batch_wait_s=5)
def average(events: list[Event]) -> None:
    """Up to a hundred of one partition at a time, or what has come in five seconds."""
    prices: dict[str, list[float]] = defaultdict(list)
    for event in events:
        prices[event.value["ticker"]].append(event.value["price"])
    for ticker, values in sorted(prices.items()):
        print(f"{ticker:<4}  average of {len(values)}: {sum(values) / len(values):.2f}")


@app.handle(TOPIC, group="alerts", start="latest", value="json", on_failure="stop")
async def alert(event: Event, ack: Ack) -> None:
    """Acknowledges by itself, when the alert is out; the partition stops if that fails for good."""
    if event.value["price"] > 500:
        await asyncio.sleep(0.1)  # Where one would call a service.
        print(f"{event.value['ticker']} is above 500")
    ack()


if __name__ == "__main__":
    app.run()
