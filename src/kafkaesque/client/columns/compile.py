"""An Avro schema into a tree of nodes.

    int   date                            date32       bytes, fixed  decimal  decimal128 up to 38
    int   time-millis                     time32(ms)                          digits, decimal256
    long  time-micros                     time64(us)                          up to 76
    long  timestamp-millis, micros, nanos     timestamp(ms, us, ns) in UTC    string  uuid   uuid
    long  local-timestamp-millis, micros, nanos   timestamp(ms, us, ns) without a zone

A logical type that is not in this list, or stands on another type, is ignored, as Avro demands.
Whatever grows without a bound is refused here: types deeper than 64, or of more than 10,000 parts.
Above: avro.py. Below: scalars.py, logical.py, nested.py, recursion.py, fastavro.
"""

from collections.abc import Sequence
from typing import Any

import fastavro
import orjson
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from kafkaesque.client.columns.logical import MAX_PRECISION, Decimals, Uuids
from kafkaesque.client.columns.nested import Either, Fields, Listed, Mapped, Maybe
from kafkaesque.client.columns.node import Node
from kafkaesque.client.columns.recursion import Recursion
from kafkaesque.client.columns.scalars import Boolean, Fixed, Nothing, Number, Raw, Real, Symbols

MAX_NESTED = 64
MAX_NODES = 10_000
MAX_BRANCHES = 127

_DAY_MS = 86_400_000

_PRIMITIVES: dict[str, Node] = {
    "null": Nothing(),
    "boolean": Boolean(),
    "int": Number(pa.int32(), 32),
    "long": Number(pa.int64(), 64),
    "float": Real(pa.float32(), 4, 4),
    "double": Real(pa.float64(), 8, 8),
    "bytes": Raw(pa.binary()),
    "string": Raw(pa.string()),
}
_LOGICAL: dict[tuple[str, str], Node] = {
    ("int", "date"): Number(pa.date32(), 32),
    ("int", "time-millis"): Number(pa.time32("ms"), 32, _DAY_MS),
    ("long", "time-micros"): Number(pa.time64("us"), 64, _DAY_MS * 1000),
    ("string", "uuid"): Uuids(),
}
for _unit, _arrow in (("millis", "ms"), ("micros", "us"), ("nanos", "ns")):
    _LOGICAL["long", f"timestamp-{_unit}"] = Number(pa.timestamp(_arrow, "UTC"), 64)
    _LOGICAL["long", f"local-timestamp-{_unit}"] = Number(pa.timestamp(_arrow), 64)


class SchemaError(ValueError):
    """A schema of which no columns can be made."""


def parsed(schema: str | dict[str, Any] | list[Any], named: dict[str, Any]) -> Any:
    """As fastavro holds it; the types that it defines are added to `named`."""
    try:
        plain = orjson.loads(schema) if isinstance(schema, str) and schema[:1] in '{["' else schema
        return fastavro.parse_schema(plain, named_schemas=named)
    except (SchemaParseException, UnknownType, ValueError, TypeError, LookupError) as error:
        raise SchemaError(f"no Avro schema: {error}") from None
    except RecursionError:
        raise SchemaError(f"an Avro schema of more than {MAX_NESTED} levels") from None


class Compiler:
    """`fallback` is true afterwards if some values must be taken one by one."""

    def __init__(self, named: dict[str, Any], columns: Sequence[str] | None) -> None:
        self._named = named
        self._columns = None if columns is None else frozenset(columns)
        self._open: dict[str, list[Recursion]] = {}
        self._depth = 0
        self._nodes = 0
        self.fallback = False

    def compile(self, schema: Any) -> Node:
        self._nodes += 1
        if self._depth == MAX_NESTED or self._nodes > MAX_NODES:
            raise SchemaError(
                f"an Avro schema of more than {MAX_NESTED} levels, or {MAX_NODES} types with every"
                " use of a name counted, is too large for columns"
            )
        self._depth += 1
        node = self._node(schema)
        self._depth -= 1
        return node

    def _node(self, schema: Any) -> Node:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return _PRIMITIVES[schema]
            return self._again(schema)
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.compile(kind)
        logical = self._logical(kind, schema)
        if logical is not None:
            return logical
        match kind:
            case "record" | "error":
                return self._record(schema)
            case "array":
                return Listed(self.compile(schema["items"]))
            case "map":
                return Mapped(self.compile(schema["values"]))
            case "enum":
                return Symbols(schema["symbols"])
            case "fixed":
                return Fixed(schema["size"])
        return self.compile(kind)

    def _again(self, name: str) -> Node:
        """A type that was defined before, or is being defined."""
        if name in self._open:
            self.fallback = True
            inner = Recursion(name, self._named)
            self._open[name].append(inner)
            return inner
        return self.compile(self._named[name])

    def _logical(self, kind: str, schema: dict[str, Any]) -> Node | None:
        name = schema.get("logicalType")
        if name == "decimal" and kind in ("bytes", "fixed"):
            precision, scale = schema["precision"], schema.get("scale", 0)
            if 0 < precision <= MAX_PRECISION:
                return Decimals(precision, scale, schema["size"] if kind == "fixed" else None)
        return _LOGICAL.get((kind, name)) if isinstance(name, str) else None

    def _record(self, schema: dict[str, Any]) -> Node:
        name = schema["name"]
        outer = self._open.get(name)
        self._open[name] = []
        wanted = self._columns if self._depth == 1 else None
        if wanted is not None:
            missing = wanted - {field["name"] for field in schema["fields"]}
            if missing:
                raise SchemaError(f"the schema has no field {', '.join(sorted(missing))}")
        fields = [(field["name"], self.compile(field["type"])) for field in schema["fields"]]
        node = Fields(fields, wanted)
        for inner in self._open.pop(name):
            inner.node = node
        if outer is not None:
            self._open[name] = outer
        return node

    def _union(self, branches: list[Any]) -> Node:
        nodes = [self.compile(branch) for branch in branches]
        if len(nodes) > MAX_BRANCHES:
            raise SchemaError(f"a union of more than {MAX_BRANCHES} branches")
        values = [place for place, node in enumerate(nodes) if not isinstance(node, Nothing)]
        if len(values) == 1:
            return Maybe(nodes, values[0])
        return Either(nodes, [_branch_name(branch) for branch in branches])


def _branch_name(branch: Any) -> str:
    if isinstance(branch, dict):
        return str(branch.get("name", branch["type"]))
    return str(branch)
