"""A .proto file: the outermost rules.

    file = [ "syntax" "=" quoted ";" | "edition" "=" quoted ";" ]
           { "import" [ "public" | "weak" ] quoted ";" | "package" full.name ";" | option
           | message | enum | extend | service | ";" }
    service = "service" ident "{" { option | rpc } "}"
    rpc = "rpc" ident rpcType "returns" rpcType ( ";" | "{" { option } "}" )
    rpcType = "(" [ "stream" ] type ")"

proto2, proto3 and edition 2023 are taken; later editions are refused. A text without a syntax is
proto2. Comments are skipped.

Above: reading.py. Below: grammar_messages.py, grammar_enums.py, grammar_options.py.
"""

from google.protobuf.descriptor_pb2 import (
    EDITION_2023,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from kafkaesque.registry.protobuf.draft import EDITIONS, PROTO2, PROTO3, Draft, Use
from kafkaesque.registry.protobuf.grammar_enums import enum
from kafkaesque.registry.protobuf.grammar_messages import extend, message
from kafkaesque.registry.protobuf.grammar_options import option_statement
from kafkaesque.registry.protobuf.scopes import packages
from kafkaesque.registry.protobuf.tokens import END, Cursor
from kafkaesque.registry.protobuf.walking import inside
from kafkaesque.registry.schema_text import MAX_DEPTH

MAX_IMPORTS = 1000


def draft_of(text: str, name: str) -> Draft:
    """Raises InvalidSchemaError with line and column."""
    draft = Draft(Cursor(text), FileDescriptorProto(name=name))
    _syntax(draft)
    while draft.cursor.token.kind != END:
        _statement(draft)
    _check_package(draft)
    return draft


def _syntax(draft: Draft) -> None:
    cursor = draft.cursor
    if not (cursor.at("syntax") or cursor.at("edition")):
        return
    word = cursor.next().text
    cursor.expect("=", f'"{word}"')
    at = cursor.token
    value = cursor.text_string(f"the {word}")
    cursor.expect(";", f"the {word}")
    if word == "syntax" and value in (PROTO2, PROTO3):
        draft.syntax = value
    elif word == "edition" and value == "2023":
        draft.syntax = EDITIONS
        draft.file.edition = EDITION_2023
    else:
        cursor.refuse(
            f'{word} "{value[:60]}" is not known here: '
            'syntax "proto2", syntax "proto3" and edition "2023" are',
            at,
        )
    if draft.syntax != PROTO2:
        draft.file.syntax = draft.syntax


def _statement(draft: Draft) -> None:
    cursor = draft.cursor
    file = draft.file
    word = cursor.token.text
    if cursor.accept(";"):
        return
    if word == "message":
        message(draft, file.message_type.add(), file.package)
    elif word == "enum":
        enum(draft, file.enum_type.add(), file.package)
    elif word == "extend":
        extend(draft, file, file.package)
    elif word == "service":
        _service(draft, file.service.add())
    elif word == "option":
        option_statement(draft, file, file.package)
    elif word == "import":
        _import(draft)
    elif word == "package":
        _package(draft)
    else:
        cursor.refuse(
            f"a message, an enum, an import or an option is missing: found {cursor.found()}"
        )


def _package(draft: Draft) -> None:
    cursor = draft.cursor
    start = cursor.next()
    if draft.file.package:
        cursor.refuse("a file has one package only", start)
    if draft.file.message_type or draft.file.enum_type or draft.file.extension:
        cursor.refuse("the package stands before all that is declared in it: move it up", start)
    name = cursor.dotted_name("a package's name")
    if name.text.count(".") >= MAX_DEPTH:
        cursor.refuse("a package's name has too many parts", name)
    draft.file.package = name.text
    cursor.expect(";", "a package's name")


def _check_package(draft: Draft) -> None:
    for package in packages(draft.file.package):
        if package in draft.places:
            draft.refuse(draft.places[package], f'"{package}" is the name of a package already')


def _import(draft: Draft) -> None:
    cursor = draft.cursor
    cursor.next()
    file = draft.file
    how = cursor.next().text if cursor.at("public") or cursor.at("weak") else ""
    at = cursor.token
    name = cursor.text_string("an imported file's name")
    if name in file.dependency:
        cursor.refuse(f'"{name[:60]}" is imported twice', at)
    if len(file.dependency) >= MAX_IMPORTS:
        cursor.refuse(f"more than {MAX_IMPORTS} imports", at)
    if how == "public":
        file.public_dependency.append(len(file.dependency))
    elif how == "weak":
        file.weak_dependency.append(len(file.dependency))
    file.dependency.append(name)
    cursor.expect(";", "an import")


def _service(draft: Draft, service: ServiceDescriptorProto) -> None:
    cursor = draft.cursor
    cursor.next()
    name = cursor.name("a service's name")
    service.name = name.text
    full_name = inside(draft.file.package, name.text)
    draft.declare(full_name, name.offset)
    cursor.expect("{", "a service's name")
    while not cursor.accept("}"):
        if cursor.accept(";"):
            continue
        if cursor.at("option"):
            option_statement(draft, service, draft.file.package)
        elif cursor.at("rpc"):
            _rpc(draft, service.method.add(), full_name)
        else:
            cursor.refuse(f"an rpc or an option is missing: found {cursor.found()}")


def _rpc(draft: Draft, method: MethodDescriptorProto, scope: str) -> None:
    cursor = draft.cursor
    cursor.next()
    name = cursor.name("an rpc's name")
    method.name = name.text
    draft.declare(inside(scope, name.text), name.offset)
    if _rpc_type(draft, method, "input_type", scope):
        method.client_streaming = True
    cursor.expect("returns", "an rpc's request")
    if _rpc_type(draft, method, "output_type", scope):
        method.server_streaming = True
    if cursor.accept(";"):
        return
    cursor.expect("{", "an rpc")
    # An rpc with braces has options, if empty ones: protoc tells the two apart.
    method.options.SetInParent()
    while not cursor.accept("}"):
        if not cursor.accept(";"):
            if not cursor.at("option"):
                cursor.refuse(f"an option is missing: found {cursor.found()}")
            option_statement(draft, method, scope)


def _rpc_type(draft: Draft, method: MethodDescriptorProto, attribute: str, scope: str) -> bool:
    """Reads `( [stream] Type )`; is it a stream?"""
    cursor = draft.cursor
    cursor.expect("(", "an rpc's name")
    streaming = cursor.accept("stream")
    name = cursor.dotted_name("a message's name", leading_dot=True)
    setattr(method, attribute, name.text)
    draft.uses.append(Use(method, attribute, scope, name.offset))
    cursor.expect(")", "an rpc's type")
    return streaming
