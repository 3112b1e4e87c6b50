"""Walks over descriptors: every message and enum of a file with its full name, outer ones first."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto


def inside(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def messages(
    parent: FileDescriptorProto | DescriptorProto, scope: str
) -> Iterator[tuple[str, DescriptorProto]]:
    """Map entries included: they have positions as all nested messages have."""
    declared = (
        parent.message_type if isinstance(parent, FileDescriptorProto) else parent.nested_type
    )
    for message in declared:
        full_name = inside(scope, message.name)
        yield full_name, message
        yield from messages(message, full_name)


def enums(file: FileDescriptorProto) -> Iterator[tuple[str, EnumDescriptorProto]]:
    for enum in file.enum_type:
        yield inside(file.package, enum.name), enum
    for full_name, message in messages(file, file.package):
        for enum in message.enum_type:
            yield inside(full_name, enum.name), enum
