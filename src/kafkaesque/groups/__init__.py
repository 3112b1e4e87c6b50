"""Consumer groups and committed offsets, without I/O.

group.py         one group's state machine: (event, now) -> effects, over roster.py and member.py
offsets.py       committed offsets of all groups, and when they expire
records.py       both as records of `__consumer_offsets`, in Kafka's own formats
table.py         groups and offsets together: replay, snapshot, expiry

Above: the broker's group coordinator, which alone is async. Below: protocol, errors, types.
"""
