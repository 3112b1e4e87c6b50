"""protoc and buf for tests: what others make of .proto texts and of pairs of them."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from kafkaesque.registry.protobuf import ProtobufSchema, descriptor, incompatibilities, parse

WELL_KNOWN = Path(str(files("grpc_tools"))) / "_proto"


def compiled(directory: Path, texts: Mapping[str, str]) -> dict[str, FileDescriptorProto]:
    """What protoc makes of files; all in one call."""
    for name, text in texts.items():
        (directory / name).write_text(text)
    out = directory / "compiled.binpb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{directory}", f"-I{WELL_KNOWN}"]
    done = subprocess.run(
        [*command, f"--descriptor_set_out={out}", *texts], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {file.name: file for file in FileDescriptorSet.FromString(out.read_bytes()).file}


def comparable(file: FileDescriptorProto, pool: DescriptorPool | None = None) -> Any:
    """Without its name and JSON names; custom options decoded if the pool knows them.

    protoc writes a JSON name to every field, and the parts of a custom option one by one.
    """
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    copy.ClearField("name")
    _clear_json_names(copy.message_type, copy.extension)
    if pool is None:
        return copy
    try:
        known = pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto")
    except KeyError:
        return copy
    return GetMessageClass(known).FromString(copy.SerializeToString())


def _clear_json_names(
    messages: Iterable[DescriptorProto], extensions: Iterable[FieldDescriptorProto]
) -> None:
    for extension in extensions:
        extension.ClearField("json_name")
    for message in messages:
        for field in message.field:
            field.ClearField("json_name")
        _clear_json_names(message.nested_type, message.extension)


def buf_breaking(
    directory: Path, old: Mapping[str, FileDescriptorProto], new: Mapping[str, FileDescriptorProto]
) -> list[dict[str, Any]]:
    """What `buf breaking` (category WIRE, and removed messages) says; each file by its name."""
    images = {}
    for which, schemas in (("old", old), ("new", new)):
        image = FileDescriptorSet()
        for name, file in schemas.items():
            image.file.add().CopyFrom(file)
            image.file[-1].name = name
        images[which] = directory / f"{which}.binpb"
        images[which].write_bytes(image.SerializeToString())
    rules = {"version": "v1", "breaking": {"use": ["WIRE", "MESSAGE_NO_DELETE"]}}
    command = [str(Path(sys.executable).parent / "buf"), "breaking", str(images["new"])]
    command += ["--against", str(images["old"]), "--config", json.dumps(rules)]
    done = subprocess.run(
        [*command, "--error-format", "json"], capture_output=True, text=True, cwd=directory
    )
    assert done.returncode in (0, 100), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


_FIELD = re.compile(r'Field "(\d+)" with name "\w+" on message "([\w.]+)"')
_OTHER_PURPOSE = (
    "ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED",
    "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED",
    "FIELD_SAME_DEFAULT",
    "FILE_SAME_PACKAGE",
    "RESERVED_ENUM_NO_DELETE",
    "RESERVED_MESSAGE_NO_DELETE",
)
"""Rules that keep numbers from being used again, or ask for the same defaults and package."""
_OURS_ALONE = ("ONEOF_FIELD_REMOVED",)
_ONEOF_KINDS = ("MULTIPLE_FIELDS_MOVED_TO_ONEOF", "FIELD_MOVED_TO_EXISTING_ONEOF")


def buf_agreement(directory: Path, pairs: list[tuple[ProtobufSchema, ProtobufSchema]]) -> list[str]:
    """Where buf and we disagree on (writer, reader), other than by the known differences:

    buf refuses, we do not: the rules of another purpose; any move into or out of a oneof; enum for
    number or another enum; bytes as string; a list for a single string or message; a required
    field that becomes optional; the removed entry message of a map.
    We refuse, buf does not: a field that is removed from a oneof that stays.
    Left out: a map that is renamed. To buf its type has changed, whatever it holds.
    """
    old = {f"p{index}.proto": _alone(writer, index) for index, (writer, _) in enumerate(pairs)}
    new = {f"p{index}.proto": _alone(reader, index) for index, (_, reader) in enumerate(pairs)}
    said: dict[str, list[dict[str, Any]]] = {}
    for line in buf_breaking(directory, old, new):
        said.setdefault(line["path"], []).append(line)
    disagreements = []
    for index, (writer, reader) in enumerate(pairs):
        lines = said.get(f"p{index}.proto", [])
        if any('Entry" to' in line["message"] and 'Entry".' in line["message"] for line in lines):
            continue
        theirs = [line for line in lines if not _known_difference(line, writer, reader)]
        ours = [each for each in incompatibilities(reader, writer) if each.kind not in _OURS_ALONE]
        moved = any(line["type"] == "FIELD_SAME_ONEOF" for line in lines)
        if moved and any(each.kind in _ONEOF_KINDS for each in ours):
            ours = [each for each in ours if each.kind not in _ONEOF_KINDS]
        if bool(theirs) != bool(ours):
            disagreements.append(f"{writer.canonical}{reader.canonical}{theirs}\n{ours}")
    return disagreements


def _alone(schema: ProtobufSchema, index: int) -> FileDescriptorProto:
    """A file in a package of its own, so that many pairs fit into one image."""
    text = re.sub(r"package [\w.]+;", f"package p{index};", schema.canonical, count=1)
    return descriptor(parse(text))


def _known_difference(line: dict[str, Any], writer: ProtobufSchema, reader: ProtobufSchema) -> bool:
    rule, message = line["type"], line["message"]
    if rule in _OTHER_PURPOSE or rule == "FIELD_SAME_ONEOF":
        return True
    if rule == "MESSAGE_NO_DELETE":
        return 'Entry" was deleted' in message
    if rule == "MESSAGE_SAME_REQUIRED_FIELDS":
        number = re.search(r'Message "(\w+)" had required field "(\d+)" deleted', message)
        return number is not None and _field(reader, number[1], number[2]) is not None
    if rule == "FIELD_WIRE_COMPATIBLE_CARDINALITY":
        return _cardinality_is_fine(message, writer, reader)
    if 'from "bytes" to "string"' in message:
        return True
    return _is_number_or_enum(message)


def _is_number_or_enum(message: str) -> bool:
    changed = re.search(r'from "([\w.]+)" to "([\w.]+)"', message)
    assert changed is not None
    kinds = [kind.rpartition(".")[2] for kind in changed.groups()]
    numbers = {"enum", "int32", "int64", "uint32", "uint64", "bool", "E", "F"}
    return set(kinds) <= numbers and bool({"enum", "E", "F"} & set(kinds))


def _cardinality_is_fine(message: str, writer: ProtobufSchema, reader: ProtobufSchema) -> bool:
    if 'from "required" to "optional' in message:
        return True
    if '"required"' in message:
        return False
    found = _FIELD.search(message)
    assert found is not None
    field = _field(writer, found[2], found[1])
    other = _field(reader, found[2], found[1])
    return all(
        each.message_type is not None or each.cpp_type == each.CPPTYPE_STRING
        for each in (field, other)
    )


def _field(schema: ProtobufSchema, message: str, number: str) -> Any:
    return schema.built.message_types_by_name[message].fields_by_number.get(int(number))
