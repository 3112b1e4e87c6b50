"""Messages with something in every field, built from the schema: one per class and version.

They are made to be cut, bent and broken by test_malformed.py. Random ones, compared with kio's, are
in tests/property/test_protocol_kio.py.
"""

from typing import Any
from uuid import UUID

from kafkaesque.protocol.messages import ASKED, MESSAGES
from kafkaesque.protocol.schema import Field, Primitive, schema_of

VALUES: dict[str, Any] = {
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "boolean": True,
    "uuid": UUID(int=5),
    "string": "six",
    "bytes": b"seven",
    "records": b"eight",
    "uint16": 9,
    "float64": 10.0,
}

CLASSES: list[type[Any]] = [
    cls for api in (*MESSAGES.values(), *ASKED) for cls in (api.request, api.response)
]
CASES: list[tuple[type[Any], int]] = [
    (cls, version)
    for cls in CLASSES
    for version in range(schema_of(cls).versions[0], schema_of(cls).versions[1] + 1)
]


def name_of(case: object) -> str:
    return case.__name__ if isinstance(case, type) else f"v{case}"


def sample(cls: type[Any], version: int) -> Any:
    present = [field for field in schema_of(cls).fields if field.exists_in(version)]
    return cls(**{field.name: _value(field, version) for field in present})


def _value(field: Field, version: int) -> Any:
    kind = field.type
    value = VALUES[kind.name] if isinstance(kind, Primitive) else sample(kind, version)
    return [value] if field.is_array else value
