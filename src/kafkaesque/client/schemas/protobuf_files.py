"""Protobuf files from a registry, in a descriptor pool of their own.

A schema comes as the base64 of its FileDescriptorProto, its imports as references with the names
that it imports them by. What everybody has needs none (protobuf_known.py). A pool for each schema:
two schemas may give one name to different messages. Above: protobuf.py. Below: protobuf_known.py.
"""

import binascii
from base64 import b64decode
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.codec import SERIALIZED, Resolve
from kafkaesque.client.schemas.protobuf_known import known_file

_MAIN = "schema.proto"
# Only options are taken from it, and those say nothing about bytes.
_OPTIONS = "confluent/meta.proto"


def file_of(schema: Schema, resolve: Resolve) -> Any:
    """Its FileDescriptor. Raises ValueError if it is no Protobuf schema."""
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(name: str, one: Schema) -> None:
        """Every file after the files that it imports."""
        if name in added:
            return
        added.add(name)
        file = _parsed(one)
        file.name = name
        _leave_out_options(file, one.references)
        references = {reference.name: reference for reference in one.references}
        for imported in file.dependency:
            if imported in references:
                add(imported, resolve(references[imported], SERIALIZED))
            else:
                _add_known(pool, imported, added)
        _add(pool, file)

    add(_MAIN, schema)
    return pool.FindFileByName(_MAIN)


def _parsed(schema: Schema) -> FileDescriptorProto:
    try:
        return FileDescriptorProto.FromString(b64decode(schema.text, validate=True))
    except (binascii.Error, DecodeError, ValueError) as error:
        raise ValueError(
            "no serialized Protobuf schema: the registry was asked for format=serialized and "
            "answered something else"
        ) from error


def _leave_out_options(file: FileDescriptorProto, references: tuple[Reference, ...]) -> None:
    if _OPTIONS in file.dependency and all(each.name != _OPTIONS for each in references):
        kept = [name for name in file.dependency if name != _OPTIONS]
        del file.dependency[:], file.public_dependency[:], file.weak_dependency[:]
        file.dependency.extend(kept)


def _add_known(pool: Any, name: str, added: set[str]) -> None:
    """With what it imports itself."""
    if name in added:
        return
    added.add(name)
    file = known_file(name)
    if file is None:
        raise ValueError(f"no Protobuf schema: it imports {name}, and no reference has that name")
    for imported in file.dependency:
        _add_known(pool, imported, added)
    _add(pool, file)


def _add(pool: Any, file: FileDescriptorProto) -> None:
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise ValueError(f"no Protobuf schema: {error}") from error
