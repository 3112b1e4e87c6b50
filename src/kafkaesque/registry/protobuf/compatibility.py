"""Can a reader of one Protobuf schema read what a writer of another wrote?

Fields are matched by number, messages by their names without the package. Kinds are Confluent's:

    MESSAGE_REMOVED                      records of that message cannot be decoded
    FIELD_KIND_CHANGED                   scalar, message, group and map are told apart
    FIELD_SCALAR_KIND_CHANGED            scalars of two encodings; these share one each: int32 int64
                                         uint32 uint64 bool enum · sint32 sint64 · string bytes
                                         · fixed32 sfixed32 · fixed64 sfixed64 · float · double
    FIELD_NAMED_TYPE_CHANGED             another message, or an imported one that has changed
    FIELD_NUMERIC_LABEL_CHANGED          a number here, a list of numbers there
    REQUIRED_FIELD_ADDED, REQUIRED_FIELD_REMOVED
    ONEOF_FIELD_REMOVED                  a field has gone from a oneof that stayed
    MULTIPLE_FIELDS_MOVED_TO_ONEOF, FIELD_MOVED_TO_EXISTING_ONEOF

Compatible, as at Confluent's: another package or name of a field, all that is added, a removed
field, oneof or enum, any change of enum values, and messages in another order (the positions in a
record count in the WRITER's schema, which the record names by its id).

Where we are stricter, since data would be lost:
 - a number against a list of numbers is refused even if proto3 leaves the label away;
 - a field that becomes required is refused, of whatever type;
 - fields of two oneofs that meet in one are refused as fields outside of oneofs are;
 - groups are compared (Confluent skips them), and imports are always.
Where we are more lenient: a required number may become optional, as a required string may.

Where we follow Confluent although a value CAN change, as protobuf's own rules allow it: a number
too large for the reader's type is cut off (int64 to int32, anything to bool, a negative one to an
unsigned); a number that a closed enum does not have, is set aside (with its key, in a map); bytes
that are no UTF-8 cannot be read as a string; of a repeated string the last one stays, of a repeated
message the merged one; an unset field has the reader's default. Extensions are not compared.

Messages are taken from a work list, each pair once: recursive ones end, and no depth is too deep.
Above: the package. Below: schema.py.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field

from kafkaesque.registry.protobuf.schema import ProtobufSchema
from kafkaesque.registry.schema_text import MAX_STEPS, Incompatibility, InvalidSchemaError

_SCALAR_KINDS = {
    Field.TYPE_INT32: "varint",
    Field.TYPE_INT64: "varint",
    Field.TYPE_UINT32: "varint",
    Field.TYPE_UINT64: "varint",
    Field.TYPE_BOOL: "varint",
    Field.TYPE_ENUM: "varint",
    Field.TYPE_SINT32: "zigzag varint",
    Field.TYPE_SINT64: "zigzag varint",
    Field.TYPE_STRING: "text",
    Field.TYPE_BYTES: "text",
    Field.TYPE_FIXED32: "fixed32",
    Field.TYPE_SFIXED32: "fixed32",
    Field.TYPE_FIXED64: "fixed64",
    Field.TYPE_SFIXED64: "fixed64",
    Field.TYPE_FLOAT: "float",
    Field.TYPE_DOUBLE: "double",
}
_TYPE_NAMES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(Field).items()
    if name.startswith("TYPE_")
}


def incompatibilities(reader: ProtobufSchema, writer: ProtobufSchema) -> list[Incompatibility]:
    """Raises InvalidSchemaError if the comparison takes more than MAX_STEPS."""
    return _Comparison(reader, writer).found()


class _Comparison:
    # protobuf's stubs and its classes disagree on descriptors: they are Any here.
    def __init__(self, reader: ProtobufSchema, writer: ProtobufSchema) -> None:
        self._reader = reader.built
        self._writer = writer.built
        self._problems: dict[str, list[Incompatibility]] = {}
        """Of each compared pair, by the path of its message."""
        self._seen: set[tuple[str, str]] = set()
        self._waiting: deque[tuple[Any, Any]] = deque()
        self._imported: list[tuple[str, Any, Any]] = []
        """Fields whose types come from other files: they change as those do."""
        self._steps = 0

    def found(self) -> list[Incompatibility]:
        self._compare_declared(
            self._reader.message_types_by_name.values(),
            self._writer.message_types_by_name.values(),
            set(),
            self._problems.setdefault("", []),
        )
        while self._waiting:
            reader, writer = self._waiting.popleft()
            self._compare_messages(reader, writer)
        self._add_changed_imports()
        return [problem for problems in self._problems.values() for problem in problems]

    def _compare_declared(
        self,
        reader: Iterable[Any],
        writer: Iterable[Any],
        of_fields: set[str],
        problems: list[Incompatibility],
    ) -> None:
        """The messages of a file, or those nested in one message; not those that fields declare."""
        known = {message.name: message for message in reader}
        for message in writer:
            self._step()
            if message.name in of_fields or message.GetOptions().map_entry:
                continue
            if message.name not in known:
                problems.append(
                    Incompatibility(
                        "MESSAGE_REMOVED",
                        _path(message),
                        f'message "{_local_name(message)}" is missing in the reader: '
                        "records of it cannot be read",
                    )
                )
            else:
                self._wait(known[message.name], message)

    def _wait(self, reader: Any, writer: Any) -> None:
        pair = (reader.full_name, writer.full_name)
        if pair not in self._seen:
            self._seen.add(pair)
            self._waiting.append((reader, writer))

    def _compare_messages(self, reader: Any, writer: Any) -> None:
        problems: list[Incompatibility] = self._problems.setdefault(_path(writer), [])
        self._compare_oneofs(reader, writer, problems)
        reader_fields = reader.fields_by_number
        writer_fields = writer.fields_by_number
        for number, field in writer_fields.items():
            self._step()
            if number not in reader_fields:
                problems.extend(_removed(field, reader))
            else:
                self._compare_fields(reader_fields[number], field, problems)
        for number, field in reader_fields.items():
            self._step()
            if number not in writer_fields and field.is_required:
                problems.append(_required(field, writer, "does not have it"))
        self._compare_declared(reader.nested_types, writer.nested_types, _groups(writer), problems)

    def _compare_oneofs(self, reader: Any, writer: Any, problems: list[Incompatibility]) -> None:
        for oneof in reader.oneofs:
            if _is_synthetic(oneof):
                continue
            alone: list[Any] = []
            oneofs: set[str] = set()
            for field in oneof.fields:
                self._step()
                before = writer.fields_by_number.get(field.number)
                if before is not None:
                    known = _oneof(before)
                    if known is None:
                        alone.append(before)
                    else:
                        oneofs.add(known.name)
            if len(alone) + len(oneofs) > 1:
                problems.append(_met(oneof, writer, alone, oneofs))

    def _compare_fields(self, reader: Any, writer: Any, problems: list[Incompatibility]) -> None:
        path = f"{_path(writer.containing_type)}/{writer.number}"
        oneof = _oneof(reader)
        if oneof is not None and _oneof(writer) is not None and _oneof(writer).name == oneof.name:
            path = f"{_path(writer.containing_type)}/{oneof.name}/{writer.number}"
        if reader.is_required and not writer.is_required:
            problems.append(_required(reader, writer.containing_type, "may leave it out"))
        if _kind(reader) != _kind(writer):
            problems.append(_changed("FIELD_KIND_CHANGED", path, reader, writer))
        elif _kind(writer) == "map":
            for part in ("key", "value"):
                self._compare_types(
                    reader.message_type.fields_by_name[part],
                    writer.message_type.fields_by_name[part],
                    path,
                    problems,
                )
        else:
            self._compare_types(reader, writer, path, problems)

    def _compare_types(
        self, reader: Any, writer: Any, path: str, problems: list[Incompatibility]
    ) -> None:
        if _kind(reader) != _kind(writer):
            problems.append(_changed("FIELD_KIND_CHANGED", path, reader, writer))
        elif _kind(writer) != "scalar":
            self._compare_named(reader, writer, path, problems)
        elif _SCALAR_KINDS[reader.type] != _SCALAR_KINDS[writer.type]:
            problems.append(_changed("FIELD_SCALAR_KIND_CHANGED", path, reader, writer))
        elif reader.is_repeated != writer.is_repeated and _SCALAR_KINDS[writer.type] != "text":
            problems.append(_changed("FIELD_NUMERIC_LABEL_CHANGED", path, reader, writer))

    def _compare_named(
        self, reader: Any, writer: Any, path: str, problems: list[Incompatibility]
    ) -> None:
        ours, theirs = reader.message_type, writer.message_type
        if _local_name(ours) != _local_name(theirs):
            problems.append(_changed("FIELD_NAMED_TYPE_CHANGED", path, reader, writer))
            return
        self._wait(ours, theirs)
        if ours.file.name != self._reader.name or theirs.file.name != self._writer.name:
            self._imported.append((path, reader, writer))

    def _add_changed_imports(self) -> None:
        """Says at the field, too, that the message of another file does not fit."""
        changed = []
        for path, reader, writer in self._imported:
            if self._problems[_path(writer.message_type)]:
                changed.append(_changed("FIELD_NAMED_TYPE_CHANGED", path, reader, writer))
        if changed:
            self._problems["fields of imported types"] = changed

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise InvalidSchemaError(f"the comparison takes more than {MAX_STEPS} steps")


def _removed(field: Any, reader: Any) -> list[Incompatibility]:
    path = _path(field.containing_type)
    named = f'field "{field.name}" of "{_local_name(field.containing_type)}"'
    if field.is_required:
        message = f"{named} is required by the writer and missing in the reader"
        return [Incompatibility("REQUIRED_FIELD_REMOVED", f"{path}/{field.number}", message)]
    oneof = _oneof(field)
    if oneof is None or oneof.name not in reader.oneofs_by_name:
        return []
    message = (
        f'{named} is missing in the reader\'s oneof "{oneof.name}": '
        "a record that has it looks as if none of the oneof were set"
    )
    return [Incompatibility("ONEOF_FIELD_REMOVED", f"{path}/{oneof.name}/{field.number}", message)]


def _required(field: Any, writer: Any, why: str) -> Incompatibility:
    return Incompatibility(
        "REQUIRED_FIELD_ADDED",
        f"{_path(writer)}/{field.number}",
        f'field "{field.name}" of "{_local_name(writer)}" is required by the reader and the writer '
        f"{why}: records without it cannot be read",
    )


def _met(oneof: Any, writer: Any, alone: list[Any], oneofs: set[str]) -> Incompatibility:
    one_moved = len(alone) == 1 and len(oneofs) == 1
    parts = [f'field "{field.name}"' for field in alone[:3]]
    parts += [f'oneof "{name}"' for name in sorted(oneofs)[:3]]
    return Incompatibility(
        "FIELD_MOVED_TO_EXISTING_ONEOF" if one_moved else "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        f"{_path(writer)}/{oneof.name}",
        f'the reader\'s oneof "{oneof.name}" of "{_local_name(writer)}" keeps one value, and the '
        f"writer may set several: {', '.join(parts)}",
    )


def _changed(kind: str, path: str, reader: Any, writer: Any) -> Incompatibility:
    owner = writer.containing_type
    named = f'field "{writer.name}"'
    if owner.GetOptions().map_entry:
        named = f"the {writer.name} of a map"
        owner = owner.containing_type
    effect = {
        "FIELD_NUMERIC_LABEL_CHANGED": "one is a list and the other is not: values would be lost",
        "FIELD_NAMED_TYPE_CHANGED": "the messages differ",
    }.get(kind, "their encodings differ")
    return Incompatibility(
        kind,
        path,
        f'{named} of "{_local_name(owner)}" is {_type_name(writer)} for the writer and '
        f"{_type_name(reader)} for the reader: {effect}",
    )


def _type_name(field: Any) -> str:
    if _kind(field) == "map":
        parts = field.message_type.fields_by_name
        return f"map<{_type_name(parts['key'])}, {_type_name(parts['value'])}>"
    name = _TYPE_NAMES[field.type]
    if field.message_type is not None:
        name = f'{name} "{field.message_type.full_name}"'
    elif field.enum_type is not None:
        name = f'enum "{field.enum_type.full_name}"'
    return f"repeated {name}" if field.is_repeated else name


def _kind(field: Any) -> str:
    if field.type == Field.TYPE_GROUP:
        return "group"
    if field.message_type is None:
        return "scalar"
    return "map" if field.message_type.GetOptions().map_entry else "message"


def _oneof(field: Any) -> Any:
    oneof = field.containing_oneof
    return None if oneof is None or _is_synthetic(oneof) else oneof


def _is_synthetic(oneof: Any) -> bool:
    """Is it the oneof that an `optional` field of proto3 gets? It has the field's name with "_"."""
    fields = oneof.fields
    return len(fields) == 1 and oneof.name.lstrip("X") == f"_{fields[0].name}"


def _groups(message: Any) -> set[str]:
    """Names of the nested messages that groups declare: they stand and fall with their fields."""
    return {
        field.message_type.name
        for field in message.fields
        if field.type == Field.TYPE_GROUP and field.name == field.message_type.name.lower()
    }


def _local_name(message: Any) -> str:
    package = message.file.package
    return str(message.full_name[len(package) + 1 :] if package else message.full_name)


def _path(message: Any) -> str:
    return "#/" + _local_name(message).replace(".", "/")
