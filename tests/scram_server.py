"""The server's side of SCRAM (RFC 5802), for tests: it keeps no password, only keys made of it."""

import hashlib
import hmac
from base64 import b64decode, b64encode

_SALT = b"salt of the earth"
_ITERATIONS = 4096


class ScramServer:
    """One login. `hash_name` is sha256 or sha512."""

    def __init__(self, hash_name: str, password: str) -> None:
        self._hash = hash_name
        salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), _SALT, _ITERATIONS)
        self._server_key = hmac.digest(salted, b"Server Key", hash_name)
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        self._stored_key = hashlib.new(hash_name, client_key).digest()
        self._bare = self._first = ""

    def challenge(self, client_first: bytes) -> tuple[str, bytes]:
        """The user's name as it was sent, and the answer."""
        head, _, self._bare = client_first.decode().partition(",,")
        assert head == "n"
        name, _, nonce = self._bare.removeprefix("n=").rpartition(",r=")
        self._first = f"r={nonce}and more,s={b64encode(_SALT).decode()},i={_ITERATIONS}"
        return name, self._first.encode()

    def verdict(self, client_final: bytes) -> bytes:
        without_proof, _, proof = client_final.decode().rpartition(",p=")
        signed = f"{self._bare},{self._first},{without_proof}".encode()
        signature = hmac.digest(self._stored_key, signed, self._hash)
        pairs = zip(b64decode(proof), signature, strict=True)
        if hashlib.new(self._hash, bytes(a ^ b for a, b in pairs)).digest() != self._stored_key:
            return b"e=invalid-proof"
        return b"v=" + b64encode(hmac.digest(self._server_key, signed, self._hash))
