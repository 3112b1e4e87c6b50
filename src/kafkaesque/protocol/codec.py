"""Messages to bytes and back, for any class that schema.py declared and any of its versions.

The functions that do it are written as Python source by decoder.py and encoder.py on first use,
compiled, and kept. All malformed input is a DecodeError. Above: whoever sends and receives, and
adds header.py and frame.py.
"""

from collections.abc import Callable, Generator
from sys import getrefcount
from typing import Any, Final, TypeAlias, TypeVar

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.decoder import compile_decoder, compile_stepwise_decoder
from kafkaesque.protocol.encoder import compile_encoder, compile_stepwise_encoder
from kafkaesque.protocol.schema import Primitive, schema_of
from kafkaesque.protocol.source import ELEMENTS_IN_A_STEP
from kafkaesque.types import Buffer

M = TypeVar("M")

_HELD_BY_NOBODY = 2
"""But a local name, and the call that counts."""
_HELD_BY_FIELD = 3
T = TypeVar("T")

_DECODERS: Final[dict[tuple[type[Any], int], Callable[[Buffer, int, bool], Any]]] = {}
_ENCODERS: Final[dict[tuple[type[Any], int], Callable[[Any], list[Buffer]]]] = {}

_ARRAYS: Final[dict[type[Any], tuple[tuple[str, bool], ...]]] = {}

_Steps: TypeAlias = Generator[None, None, T]
_STEPWISE_DECODERS: Final[
    dict[tuple[type[Any], int], Callable[[Buffer, int, bool, int], _Steps[Any]]]
] = {}
_STEPWISE_ENCODERS: Final[dict[tuple[type[Any], int], Callable[[Any], _Steps[list[Buffer]]]]] = {}


def decode(
    cls: type[M], version: int, data: Buffer, position: int = 0, *, surplus: bool = False
) -> M:
    """The message that fills `data` from `position` to its end; `records` are views into `data`.

    `surplus` lets more bytes follow, as Kafka does: librdkafka writes "all topics" in Metadata with
    three too many (its issue 5049).
    """
    decoder = _DECODERS.get((cls, version))
    if decoder is None:
        _check(cls, version)
        decoder = _DECODERS[cls, version] = compile_decoder(cls, version)
    message: M = decoder(data, position, surplus)
    return message


def encode(message: object, version: int) -> list[Buffer]:
    """The chunks of a message, in order; each `records` buffer is one of them, by reference."""
    cls = type(message)
    encoder = _ENCODERS.get((cls, version))
    if encoder is None:
        _check(cls, version)
        encoder = _ENCODERS[cls, version] = compile_encoder(cls, version)
    return encoder(message)


def decode_in_steps(
    cls: type[M], version: int, data: Buffer, position: int, max_elements: int
) -> _Steps[M]:
    """`decode` with `surplus`, a few hundred microseconds at a time; `data` must stay as it is.

    A message whose arrays have more elements than that, all together, is a DecodeError.
    """
    decoder = _STEPWISE_DECODERS.get((cls, version))
    if decoder is None:
        _check(cls, version)
        decoder = _STEPWISE_DECODERS[cls, version] = compile_stepwise_decoder(cls, version)
    return decoder(data, position, True, max_elements)


def encode_in_steps(message: object, version: int) -> _Steps[list[Buffer]]:
    """`encode`, a few hundred microseconds at a time; `message` must stay as it is."""
    cls = type(message)
    encoder = _STEPWISE_ENCODERS.get((cls, version))
    if encoder is None:
        _check(cls, version)
        encoder = _STEPWISE_ENCODERS[cls, version] = compile_stepwise_encoder(cls, version)
    return encoder(message)


def taken_apart(message: Any) -> _Steps[None]:
    """Empty the arrays of a message that nobody needs any more, in steps like those of decoding.

    What somebody else holds as well, a list or an element, stays as it is.
    """
    turn = 0
    left = [message]
    while left:
        part = left.pop()
        turn += 1
        for name, are_deep in _arrays(type(part)):
            elements = getattr(part, name)
            if not isinstance(elements, list) or getrefcount(elements) > _HELD_BY_FIELD:
                continue
            while elements:
                some = elements[-ELEMENTS_IN_A_STEP:]
                del elements[-ELEMENTS_IN_A_STEP:]
                turn += len(some)
                while are_deep and some:
                    element = some.pop()
                    if getrefcount(element) == _HELD_BY_NOBODY:
                        left.append(element)
                if turn >= ELEMENTS_IN_A_STEP:
                    turn = 0
                    yield
        if turn >= ELEMENTS_IN_A_STEP:
            turn = 0
            yield


def _arrays(cls: type[Any]) -> tuple[tuple[str, bool], ...]:
    """Their names, and whether what is in them has arrays, too."""
    arrays = _ARRAYS.get(cls)
    if arrays is None:
        fields = (field for field in schema_of(cls).fields if field.is_array)
        arrays = _ARRAYS[cls] = tuple(
            (field.name, not isinstance(field.type, Primitive) and bool(_arrays(field.type)))
            for field in fields
        )
    return arrays


def _check(cls: type[Any], version: int) -> None:
    first, last = schema_of(cls).versions
    if not first <= version <= last:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"{cls.__name__} has versions {first} to {last}, not {version}",
        )
