"""What can be wrong with a table, its rows or its database.

TableError                it cannot be written like this: the cause and the cure are named
├── RowError              a row does not fit; nothing of its batch is written
└── DatabaseAwayError     the database cannot be reached now; the same call may succeed later
"""


class TableError(Exception):
    """The table cannot be used, or not for this."""


class RowError(TableError):
    """A row does not fit: the message names the row and the field."""


class DatabaseAwayError(TableError):
    """Nothing is known to be written. To write the batch again is always safe."""
