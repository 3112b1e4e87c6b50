"""Who may read and write what: bearer tokens with patterns of topics and keys, from a TOML file.

    [[token]]
    name = "dashboard"
    sha256 = "9f86d081…"            # or token = "…": the hash need not be kept secret
    topics = ["ticks", "orders.*"]
    keys = ["AMZN", "eu-*"]         # all keys, if absent
    write = ["orders.*"]            # topics to write to, over HTTP; none, if absent
    max_connections = 100           # as many as there are, if absent

Patterns are those of globs.py. A subscription to a prefix needs a pattern that covers every key
with that prefix, one to all keys the pattern `*`. A refusal is the same whether or not a topic
exists. Tokens are kept as SHA-256 and looked up by it: how long that takes says nothing about a
token. Without a file everybody may read everything.
Above: events/, fanout/. Below: globs.py.
"""

import logging
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from kafkaesque.errors import StartError
from kafkaesque.gateway.globs import covers, matches

logger = logging.getLogger(__name__)

_FIELDS = {"name", "token", "sha256", "topics", "keys", "write", "max_connections"}


@dataclass(frozen=True, slots=True)
class Grant:
    """What the holder of a token may do. `max_connections` 0: as many as there are.

    `digest` is the token's: with a new token it is another grant.
    """

    name: str
    topics: tuple[bytes, ...]
    keys: tuple[bytes, ...] = (b"*",)
    max_connections: int = 0
    digest: bytes = field(default=b"", repr=False)
    write: tuple[bytes, ...] = ()

    def refusal(
        self, topic: str, keys: tuple[bytes, ...] | None = None, prefix: bytes | None = None
    ) -> str | None:
        """Why these keys of a topic may not be read, or None. Neither keys nor prefix: all keys."""
        if not _any_matches(self.topics, topic.encode()):
            return f"this token may not read topic {topic!r}"
        if keys is not None:
            refused = next((key for key in keys if not _any_matches(self.keys, key)), None)
            return None if refused is None else f"this token may not read key {_shown(refused)}"
        if any(covers(pattern, prefix or b"") for pattern in self.keys):
            return None
        if prefix:
            return f"this token may not read all keys that begin with {_shown(prefix)}"
        return "this token may not read all keys: name those that it may"

    @property
    def covers_all_topics(self) -> bool:
        """Whether its holder may know of every topic."""
        return any(covers(pattern, b"") for pattern in self.topics)

    def write_refusal(self, topic: str) -> str | None:
        """Why this topic may not be written, made or deleted, or None."""
        if _any_matches(self.write, topic.encode()):
            return None
        return f"this token may not write to topic {topic!r}"


EVERYTHING = Grant("everybody", (b"*",), write=(b"*",))


class Access:
    """The tokens of a file, or nobody's: then `grant` gives everything to everyone."""

    def __init__(self, path: Path | None, grants: Mapping[bytes, Grant]) -> None:
        self._path = path
        self._grants = dict(grants)

    @classmethod
    def open(cls) -> "Access":
        return cls(None, {})

    @classmethod
    def load(cls, path: Path) -> "Access":
        """Raises StartError if the file cannot be read or does not say what it should."""
        return cls(path, _read(path))

    @property
    def needs_token(self) -> bool:
        return self._path is not None

    def grant(self, token: str | None) -> Grant | None:
        """What this token gives; None if it is unknown, or if one is needed and absent."""
        if self._path is None:
            return EVERYTHING
        return None if token is None else self._grants.get(_digest(token))

    def still_gives(self, grant: Grant) -> bool:
        """Whether the file, as it was last read, still has it: for connections that are open."""
        return self._path is None or grant in self._grants.values()

    def reload(self) -> bool:
        """Read the file again. A broken one changes nothing, is logged, and gives False."""
        if self._path is None:
            return True
        try:
            self._grants = _read(self._path)
        except StartError as error:
            logger.error("%s; the tokens that were read before stay valid", error)
            return False
        logger.info("read %d tokens from %s", len(self._grants), self._path)
        return True


def bearer_token(authorization: str | None) -> str | None:
    """The token of an HTTP header `Authorization: Bearer …`."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _read(path: Path) -> dict[bytes, Grant]:
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise StartError(f"cannot read the tokens in {path} ({error.strerror})") from None
    except ValueError as error:
        raise StartError(f"{path} is not TOML ({error}): correct it") from None
    tables = document.pop("token", None)
    if document or not isinstance(tables, list):
        raise StartError(f"{path} must have [[token]] tables and nothing else")
    grants: dict[bytes, Grant] = {}
    for number, table in enumerate(tables, 1):
        try:
            grant = _parse(table)
        except ValueError as error:
            raise StartError(f"{path}, [[token]] number {number}: {error}") from None
        if grant.digest in grants or any(grant.name == other.name for other in grants.values()):
            raise StartError(f"{path}, [[token]] number {number}: its name or token is there twice")
        grants[grant.digest] = grant
    return grants


def _parse(table: Any) -> Grant:
    if not isinstance(table, dict):
        raise ValueError("it is no table")
    if unknown := set(table) - _FIELDS:
        raise ValueError(f"unknown key {min(unknown)!r}: there are {', '.join(sorted(_FIELDS))}")
    name, most = table.get("name"), table.get("max_connections", 0)
    if not isinstance(name, str) or not name:
        raise ValueError('it needs a name, as in name = "dashboard"')
    if type(most) is not int or most < 0:
        raise ValueError("max_connections must be a whole number, 0 for no limit")
    topics = _patterns(table, "topics", None)
    keys = _patterns(table, "keys", ["*"])
    return Grant(name, topics, keys, most, _hash(table), _patterns(table, "write", []))


def _hash(table: Mapping[str, Any]) -> bytes:
    token, digest = table.get("token"), table.get("sha256")
    if (token is None) == (digest is None):
        raise ValueError("it needs one of token and sha256")
    if token is not None:
        if not isinstance(token, str) or not token:
            raise ValueError("token must be text that is not empty")
        return _digest(token)
    try:
        raw = bytes.fromhex(str(digest))
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise ValueError("sha256 must have 64 hexadecimal digits, as sha256sum prints them")
    return raw


def _patterns(table: Mapping[str, Any], name: str, default: list[str] | None) -> tuple[bytes, ...]:
    given = table.get(name, default)
    if not isinstance(given, list) or not all(isinstance(pattern, str) for pattern in given):
        raise ValueError(f'{name} must be a list of patterns, as in {name} = ["orders*"]')
    return tuple(pattern.encode() for pattern in given)


def _digest(token: str) -> bytes:
    return sha256(token.encode(errors="surrogatepass")).digest()


def _any_matches(patterns: Iterable[bytes], text: bytes) -> bool:
    return any(matches(pattern, text) for pattern in patterns)


def _shown(key: bytes) -> str:
    return repr(key.decode(errors="backslashreplace"))
