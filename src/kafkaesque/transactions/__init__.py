"""Transactions, without I/O.

transaction.py   one transactional id's state machine: (event, now) -> effects
transitions.py   what each event does in each state
partitions.py    which partitions it has
records.py       it as a record of `__transaction_state`, in Kafka's own format
table.py         all transactional ids: replay, and whose a producer id is

Above: the broker's transaction coordinator, which alone is async. Below: protocol, errors, types.
"""
