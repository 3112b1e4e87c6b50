"""Consumer groups and committed offsets, without I/O.

group.py         one group's state machine: (event, now) -> effects, over roster.py and member.py
offsets.py       a committed offset
committed.py     those of all groups, and what disks and transactions have still to decide about
expiry.py        when they may be forgotten
table.py         groups and offsets together
records.py       both as records of `__consumer_offsets`, in Kafka's own formats
replay.py        both out of a log of such records

Above: the broker's group coordinator, which alone is async. Below: protocol, records, types.
"""
