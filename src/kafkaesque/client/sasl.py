"""SASL from the client's side, as a dialogue of bytes: PLAIN (RFC 4616) and SCRAM (RFC 5802, 7677).

    client  n,,n=user,r=nonce
    server  r=nonce+more,s=salt,i=iterations
    client  c=biws,r=nonce+more,p=proof
    server  v=signature                        or e=what is wrong

A login yields what to send and is sent what came; it ends when the server may be believed. PLAIN
sends the password as it is. SCRAM proves to know it, and the server's signature proves that the
server knows it, too: one that does not is a SaslError. Names and passwords go as UTF-8, as Kafka
takes them; there is no stringprep, and no channel binding. Above: greeting.py.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Generator
from typing import Final

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_NO_BINDING: Final = "n,,"
_MIN_ITERATIONS: Final = 4096
_MAX_ITERATIONS: Final = 1_000_000
"""A server that asks for more would only keep us busy."""


class SaslError(ValueError):
    """The server did not do its part."""


def login(mechanism: str, user: str, password: str, nonce: str) -> Generator[bytes, bytes, None]:
    """`nonce` is printable text without a comma, never used before."""
    if mechanism == "PLAIN":
        return _plain(user, password)
    return _scram(_HASHES[mechanism], user, password, nonce)


def _plain(user: str, password: str) -> Generator[bytes, bytes, None]:
    yield f"\0{user}\0{password}".encode()


def _scram(name: str, user: str, password: str, nonce: str) -> Generator[bytes, bytes, None]:
    client_first = f"n={_escaped(user)},r={nonce}"
    challenge = yield (_NO_BINDING + client_first).encode()
    server_first, fields = _fields(challenge)
    joint_nonce, salt, iterations = _challenge(fields, nonce)
    binding = b64encode(_NO_BINDING.encode()).decode()
    client_final = f"c={binding},r={joint_nonce}"
    signed = f"{client_first},{server_first},{client_final}".encode()
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", name)
    stored_key = hashlib.new(name, client_key).digest()
    signature = hmac.digest(stored_key, signed, name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    verdict = yield f"{client_final},p={b64encode(proof).decode()}".encode()
    server_key = hmac.digest(salted, b"Server Key", name)
    _believe(verdict, hmac.digest(server_key, signed, name))


def _challenge(fields: dict[str, str], nonce: str) -> tuple[str, bytes, int]:
    if "m" in fields:
        raise SaslError("it wants an extension of SCRAM that nobody here knows")
    joint_nonce = fields.get("r", "")
    if not joint_nonce.startswith(nonce) or joint_nonce == nonce:
        raise SaslError("its nonce does not go on from ours")
    digits = fields.get("i", "")
    iterations = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
    if not _MIN_ITERATIONS <= iterations <= _MAX_ITERATIONS:
        raise SaslError(
            f"it wants {digits or 'no'} iterations; "
            f"{_MIN_ITERATIONS} to {_MAX_ITERATIONS} are reasonable"
        )
    return joint_nonce, _decoded(fields.get("s", "")), iterations


def _believe(verdict: bytes, signature: bytes) -> None:
    _, fields = _fields(verdict)
    if "e" in fields:
        raise SaslError(fields["e"])
    if not hmac.compare_digest(_decoded(fields.get("v", "")), signature):
        raise SaslError("it does not know the password itself")


def _fields(message: bytes) -> tuple[str, dict[str, str]]:
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise SaslError("it sends what is not text") from None
    return text, {part[:1]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise SaslError("it sends what is not base64") from None


def _escaped(user: str) -> str:
    return user.replace("=", "=3D").replace(",", "=2C")
