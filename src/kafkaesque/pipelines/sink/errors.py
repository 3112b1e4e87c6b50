"""What a sink raises.

    SinkError            the message names the cause and the cure
    ├── RefusedRowError  the cluster will not have a row, today or tomorrow
    │   └── TooLargeError    it, or the batch of records that it was sent in, is too large
    ├── FencedError      another query, or another driver of this one, is the writer now
    └── LostError        a transaction ended without us: what it wrote has to be looked up

Above: everything in sink/.
"""


class SinkError(Exception):
    """Rows are not written; the message names the cause and the cure."""


class RefusedRowError(SinkError):
    """The cluster will not have a row, today or tomorrow."""


class TooLargeError(RefusedRowError):
    """A row, or the batch of records that it was sent in, is too large."""


class FencedError(SinkError):
    """Another query, or another driver of this one, is the writer now."""


class LostError(SinkError):
    """A transaction ended without us: what it wrote has to be looked up."""
