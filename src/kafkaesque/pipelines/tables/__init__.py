"""Compare-and-set by id into a database table: the newest event of each id, whatever comes when.

Each row carries the place of its event, `(kafka_ts, kafka_partition, kafka_offset)`, and replaces
only an older one. So events may come twice, in any order, in any batches, and after any crash: the
table ends the same.

    from kafkaesque.pipelines.tables import Table, row_of

    table = Table.open("sqlite:///orders.db", table="orders", key="id")
    table.compare_and_set(row_of(event, key="id") for event in events)

rows.py has what is written, columns.py what a column may hold, statements.py the SQL; sqlite.py and
postgres.py know their databases, table.py uses them. Above: handlers of an App, pipelines.
"""

from kafkaesque.pipelines.tables.errors import DatabaseAwayError, RowError, TableError
from kafkaesque.pipelines.tables.rows import Row, row_of
from kafkaesque.pipelines.tables.table import Table

__all__ = ["DatabaseAwayError", "Row", "RowError", "Table", "TableError", "row_of"]
