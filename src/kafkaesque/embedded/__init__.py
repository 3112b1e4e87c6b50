"""A broker inside a Python program: the classes of the story, on the real log.

`Kafkaesque`, `Topic` and `ConsumerGroup` are what a program holds. They may be called from any
thread: thread.py runs a whole broker on an event loop of its own, and each call goes to that loop
(node.py), where it appends and reads like any API. There is no second log: what is put here is
fetched by Kafka clients, and the other way round. members.py are consumers in the broker's own
groups, bounds.py keeps topics short, stale.py keeps what falls off them, values.py turns Python
values into bytes. Above: testing. Below: broker.
"""
