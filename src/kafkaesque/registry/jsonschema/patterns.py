"""Regular expressions of strangers: checked, and matched against names, without Python's `re`.

Rust's engines do both, by jsonschema_rs. A pattern is compiled within SIZE_BYTES. Names are matched
by the engine that needs linear time; it knows no look-around and no back-references, and for those
the answer is None: it cannot be told.
Above: references.py, compare.py. Below: jsonschema_rs.
"""

from functools import lru_cache

from jsonschema_rs import Draft7Validator, FancyRegexOptions, RegexOptions, ValidationError

from kafkaesque.registry.schema_text import InvalidSchemaError

MAX_PATTERN_CHARS = 4_000
MAX_PATTERNS = 500
"""Different ones in a schema and all that it refers to."""
SIZE_BYTES = 1 << 20


def check(pattern: str, where: str) -> None:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidSchemaError(
            f"the regular expression at {where} has {len(pattern)} characters: "
            f"at most {MAX_PATTERN_CHARS} are taken"
        )
    try:
        Draft7Validator(
            {"pattern": pattern}, pattern_options=FancyRegexOptions(size_limit=SIZE_BYTES)
        )
    except (ValidationError, ValueError):
        raise InvalidSchemaError(
            f"{_short(pattern)} at {where} is no regular expression that can be run: "
            "mend its syntax, or make its repetitions smaller"
        ) from None


def matches(pattern: str, name: str) -> bool | None:
    """None: it cannot be told in linear time."""
    matcher = _matcher(pattern)
    return None if matcher is None else matcher.is_valid(name)


@lru_cache(maxsize=1_000)
def _matcher(pattern: str) -> Draft7Validator | None:
    try:
        return Draft7Validator(
            {"pattern": pattern}, pattern_options=RegexOptions(size_limit=SIZE_BYTES)
        )
    except (ValidationError, ValueError):
        return None


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else f"{pattern[:57]}...")
