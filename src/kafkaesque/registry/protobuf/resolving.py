"""Puts full names in the place of the type names that a text uses.

Above: reading.py. Below: scopes.py, draft.py.
"""

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from kafkaesque.registry.protobuf.draft import Draft, Use
from kafkaesque.registry.protobuf.scopes import Kind, Names


def resolve_types(draft: Draft, names: Names) -> None:
    for use in draft.uses:
        name = getattr(use.holder, use.attribute)
        full_name = names.resolved_type(name, use.scope)
        if full_name is None:
            draft.refuse(
                use.offset,
                f'type "{name[:200]}" is not known: declare it, or import the file that does '
                "(an import of an import is seen only if it is public)",
            )
        _put(draft, use, full_name, names.kind(full_name))


def _put(draft: Draft, use: Use, full_name: str, kind: Kind | None) -> None:
    setattr(use.holder, use.attribute, "." + full_name)
    if use.attribute != "type_name":
        if kind is not Kind.MESSAGE:
            draft.refuse(use.offset, f'"{full_name}" is an enum: a message is wanted')
        return
    assert isinstance(use.holder, FieldDescriptorProto)
    if kind is Kind.ENUM:
        use.holder.type = FieldDescriptorProto.TYPE_ENUM
    elif use.holder.HasField("default_value"):
        draft.refuse(use.offset, f'field "{use.holder.name}" is a message: it has no default')
    else:
        use.holder.type = FieldDescriptorProto.TYPE_MESSAGE
