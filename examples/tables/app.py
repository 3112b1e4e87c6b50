"""The newest state of each order in a table: run it with `kafkaesque run examples/tables/app.py`.

It needs a topic `orders` (`kafkaesque topic create orders -p 3`) whose events are JSON objects with
an `id`; an event without a value deletes the order that its key names:

    echo '{"id": "o-17", "price": 12.5}' | kafkaesque topic produce orders -k o-17

Each row carries the place of its event and replaces only an older one. So the app may be killed,
started twice, or started again from the first event: the table ends the same.
"""

import os

from kafkaesque import App, Event
from kafkaesque.pipelines.tables import Table, row_of

app = App(
    "127.0.0.1:9092",
    # One that was killed makes way for the next after six seconds.
    settings={"session.timeout.ms": 6000},
)
orders = Table.open(
    os.environ.get("ORDERS_DATABASE", "sqlite:///orders.db"),
    table="orders",
    key="id",
    columns={"price": "double"},
    patience_s=30,
)


@app.handle("orders", group="orders-table", value="json", batch=500, batch_wait_s=0.2)
def keep(events: list[Event]) -> None:
    """Up to five hundred events of one partition in one transaction."""
    orders.compare_and_set(row_of(event, key="id") for event in events)


if __name__ == "__main__":
    app.run()
