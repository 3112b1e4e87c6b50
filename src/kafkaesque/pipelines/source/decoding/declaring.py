"""What the source declares to Spark, and what it then tells its tasks.

    schema()               on the driver: the schema is found and pinned, the columns are declared
    reader, streamReader   Spark hands the same columns back, as its own types: from them come the
                           Arrow types that every batch must have

Above: pyspark_kafkaesque. Below: pinned.py, types.py, values.py, source/columns.py.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkaesque.pipelines.source.columns import arrow_schema, declared
from kafkaesque.pipelines.source.decoding.asked import Asked
from kafkaesque.pipelines.source.decoding.pinned import Pinned, kind_of, known_alone, pinned
from kafkaesque.pipelines.source.decoding.types import ddl_of
from kafkaesque.pipelines.source.decoding.values import Decoding
from kafkaesque.pipelines.source.options import (
    decode_options,
    includes_headers,
    wanted_columns,
)
from kafkaesque.pipelines.source.security import OptionsError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def declaration(given: Mapping[str, str]) -> tuple[str, Pinned | None]:
    """The columns as DDL, and the schema that they are of. Raises OptionsError."""
    asked = decode_options(given)
    with_headers, wanted = includes_headers(given), wanted_columns(given)
    if asked is None:
        return declared(with_headers, wanted=wanted), None
    if wanted and "value" not in wanted:
        raise OptionsError("columns leaves out value, which decode is for: leave decode out too")
    found = pinned(asked) if asked.columns is None else None
    with_error = asked.dead_letter_topic is None
    return declared(with_headers, _value_type(asked, found), with_error, wanted), found


def decoding_of(
    given: Mapping[str, str], schema: "StructType", found: Pinned | None
) -> Decoding | None:
    """Raises OptionsError."""
    asked = decode_options(given)
    if asked is None:
        return None
    if asked.columns is None and found is None:
        raise OptionsError("with decode the columns are the schema's: leave .schema(…) out")
    from pyspark.sql.pandas.types import to_arrow_schema

    value: pa.Field = to_arrow_schema(schema, timezone="UTC").field("value")
    _require_nulls(value, "value")
    columns = arrow_schema(includes_headers(given))
    columns = columns.set(columns.get_field_index("value"), value)
    if asked.dead_letter_topic is None:
        columns = columns.append(pa.field("_error", pa.string()))
    return Decoding(asked, found, columns)


def _value_type(asked: Asked, found: Pinned | None) -> str:
    if found is None:
        return f"STRUCT<{asked.columns}>"
    return ddl_of(kind_of(found.schema, known_alone(found), asked.form))


def _require_nulls(field: pa.Field, path: str) -> None:
    """A value that does not decode is null, and so is a field that JSON does not have."""
    if not field.nullable:
        raise OptionsError(f"{path} cannot be NOT NULL: leave that out of valueSchema")
    if pa.types.is_struct(field.type):
        for each in field.type:
            _require_nulls(each, f"{path}.{each.name}")
