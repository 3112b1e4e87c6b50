"""Which Avro schemas can be read without end, and which as deep as a payload is long.

fastavro reads what it is told to, in C: a list of 2**60 values that take no bytes keeps it busy for
ever, and a value that is nested too deep overflows the stack and ends the process. So:

    a list of values that take no bytes          refused
    a record that contains itself, always        refused: no value of it has an end
    a record that may contain itself             read in Python, if a payload is long

Pure. Above: avro.py. Below: nothing.
"""

from typing import Any

_BYTES = {"null": 0, "float": 4, "double": 8}
_RECORDS = ("record", "error")
_KINDS = (*_RECORDS, "enum", "fixed", "array", "map")


def is_recursive(schema: Any, names: dict[str, Any]) -> bool:
    """Whether a value may contain one of its own type. Raises ValueError for what has no end."""
    walk = _Walk(names)
    walk.least_bytes(schema, frozenset())
    walk.require_an_end()
    return walk.is_recursive


class _Walk:
    def __init__(self, names: dict[str, Any]) -> None:
        self.is_recursive = False
        self._names = names
        self._known: dict[str, int] = {}
        self._always_in: dict[str, list[str]] = {}
        """Of each record: the records that no value of it is without."""

    def least_bytes(self, schema: Any, around: frozenset[str]) -> int:
        """`around` are the records that this is in."""
        if isinstance(schema, list):
            for each in schema:
                self.least_bytes(each, around)
            return 1
        schema = self._resolved(schema)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in ("array", "map"):
            item = schema["items" if kind == "array" else "values"]
            if self.least_bytes(item, around) == 0 and kind == "array":
                raise ValueError("a list of values that take no bytes is not read")
            return 1
        if kind in _RECORDS:
            return self._record(schema, around)
        return int(schema["size"]) if kind == "fixed" else _BYTES.get(kind, 1)

    def require_an_end(self) -> None:
        left = dict(self._always_in)
        while ended := [name for name, parts in left.items() if not left.keys() & set(parts)]:
            for name in ended:
                del left[name]
        if left:
            raise ValueError(f"{next(iter(left))} always contains itself: no value has an end")

    def _record(self, schema: Any, around: frozenset[str]) -> int:
        name = schema["name"]
        if name in around:
            self.is_recursive = True
            return 1
        if name not in self._known:
            kinds = [self._resolved(each["type"]) for each in schema["fields"]]
            self._always_in[name] = [
                each["name"]
                for each in kinds
                if isinstance(each, dict) and each["type"] in _RECORDS
            ]
            self._known[name] = sum(self.least_bytes(each, around | {name}) for each in kinds)
        return self._known[name]

    def _resolved(self, schema: Any) -> Any:
        """Names and wrappings taken away."""
        while True:
            kind = schema["type"] if isinstance(schema, dict) else schema
            if isinstance(kind, dict | list):
                schema = kind
            elif isinstance(schema, str) and schema in self._names:
                schema = self._names[schema]
            elif isinstance(schema, dict) and kind in self._names and kind not in _KINDS:
                schema = self._names[kind]
            else:
                return schema
            if isinstance(schema, list):
                return schema
