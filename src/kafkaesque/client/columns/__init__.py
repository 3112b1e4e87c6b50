"""Records as columns of Arrow: thousands of values decoded at once, by numpy.

    records.py   record batches -> offset, timestamp, key, value, headers (headers.py); millions of
                 them by a loop that numba compiles (compiled.py, record_loop.py)
    avro.py      values of an Avro schema -> a struct of its fields: compile.py makes a tree of
                 nodes (node.py; scalars.py, logical.py, nested.py, items.py, recursion.py), which
                 read through a cursor over all rows (cursor.py); resolve.py for another reader
    json_rows.py JSON objects -> a struct; millions of scalar members by a compiled loop, too
                 (json_plain.py, json_loop.py)
    decoded.py   the rows, and which of them were refused (errors.py)

Needs numpy, pyarrow and fastavro: `pip install 'kafkaesque-broker[columns]'`.
Above: whoever reads many records. Below: client/fetched.py, records/.
"""

try:
    import fastavro as _fastavro  # noqa: F401
    import numpy as _numpy  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"columns need {error.name}: pip install 'kafkaesque-broker[columns]'"
    ) from error

from kafkaesque.client.columns.avro import AvroDecoder, avro_decoder
from kafkaesque.client.columns.compile import SchemaError
from kafkaesque.client.columns.decoded import Decoded
from kafkaesque.client.columns.errors import ColumnsError
from kafkaesque.client.columns.json_rows import JsonDecoder, json_decoder
from kafkaesque.client.columns.records import columns_of, records_columns

__all__ = [
    "AvroDecoder",
    "ColumnsError",
    "Decoded",
    "JsonDecoder",
    "SchemaError",
    "avro_decoder",
    "columns_of",
    "json_decoder",
    "records_columns",
]
