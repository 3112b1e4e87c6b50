"""JSON in and out, as Avro schemas need it.

`load` refuses what is too long, too deep, or no JSON by the letter (NaN, numbers beyond a double).
`dump` writes as Java does, so that texts agree with those of other registries: no white space,
1.0E10 for large and small doubles, control characters as \\u001F. It does not recurse.
Above: parse.py, canonical.py. Below: schema_text.py.
"""

import json
import math
import re
from decimal import Decimal
from typing import Any, NoReturn

from kafkaesque.registry.schema_text import MAX_DEPTH, MAX_TEXT_BYTES, InvalidSchemaError

MAX_JSON_DEPTH = 3 * MAX_DEPTH
"""A record within a record is three levels of JSON deeper: its fields, one of them, its type."""

_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|.)")
_ENCODER = json.JSONEncoder(ensure_ascii=False)
TOO_DEEP = f"the schema is nested deeper than {MAX_DEPTH} levels: name the inner types instead"


class _Punctuation(str):
    __slots__ = ()


def load(text: str) -> Any:
    if len(text) > MAX_TEXT_BYTES or len(text.encode(errors="replace")) > MAX_TEXT_BYTES:
        raise InvalidSchemaError(f"the schema is longer than {MAX_TEXT_BYTES} bytes")
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidSchemaError(
            f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
            ' (a schema that is only a name needs its quotes: "string")'
        ) from None
    except RecursionError:
        raise InvalidSchemaError(TOO_DEEP) from None
    except InvalidSchemaError:
        raise
    except ValueError:
        raise InvalidSchemaError("a number in the schema has too many digits") from None
    _check_depth(value)
    return value


def _no_constant(name: str) -> NoReturn:
    raise InvalidSchemaError(f'{name} is no JSON: write it as text, "{name}"')


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidSchemaError(f"the number {digits[:40]} is too large for a double")
    return number


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise InvalidSchemaError(TOO_DEEP)


def dump(value: Any) -> str:
    out: list[str] = []
    rest: list[Any] = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, _Punctuation):
            out.append(part)
        elif isinstance(part, dict):
            rest.append(_Punctuation("}"))
            for index, (key, inner) in reversed(list(enumerate(part.items()))):
                rest += (inner, _Punctuation(("," if index else "") + _string(key) + ":"))
            rest.append(_Punctuation("{"))
        elif isinstance(part, list | tuple):
            rest.append(_Punctuation("]"))
            for index, inner in reversed(list(enumerate(part))):
                rest += (inner, _Punctuation("," if index else ""))
            rest.append(_Punctuation("["))
        else:
            out.append(_atom(part))
    return "".join(out)


def _atom(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    return _double(value) if isinstance(value, float) else json.dumps(value)


def _string(value: str) -> str:
    text = _ENCODER.encode(value)
    return _ESCAPE.sub(_upper_case, text) if "\\u" in text else text


def _upper_case(escape: re.Match[str]) -> str:
    return f"\\u{escape[1].upper()}" if escape[1] else escape[0]


def _double(value: float) -> str:
    """As Java's Double.toString."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    negative, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    fraction = "".join(map(str, digits[1:])) or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' * negative}{digits[0]}.{fraction}E{power}"
