"""Requests on their way to one of a registry's addresses, and answers back.

An address that cannot be reached, or says that something is wrong with it, is passed over for the
next; the one that answered last is asked first. All addresses are tried twice: the first time may
only have found that a connection kept open has ended meanwhile. Every request of this API may be
sent twice and does the same. Thread-safe.
Above: client.py. Below: httpx (loaded here, when first needed).
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkaesque.client.registry.errors import RegistryAwayError, RegistryError

if TYPE_CHECKING:
    import httpx

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
# What is wrong with the registry, not with the question.
_NOT_READY = 500
_ROUNDS = 2
_PAUSE_S = 0.2


class Transport:
    def __init__(
        self,
        addresses: tuple[str, ...],
        *,
        user: str | None,
        password: str | None,
        token: str | None,
        tls_ca: Path | str | None,
        tls_verify: bool,
        timeout_s: float,
    ) -> None:
        self._addresses = addresses
        self._next = 0
        headers = {"accept": f"{_CONTENT_TYPE}, application/json", "content-type": _CONTENT_TYPE}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        self._client: httpx.Client = _httpx().Client(
            headers=headers,
            auth=None if user is None else (user, password or ""),
            verify=_verify(tls_ca, tls_verify),
            timeout=timeout_s,
        )

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """The answer. Raises RegistryError if it is a refusal, RegistryAwayError without one."""
        params = {name: _word(value) for name, value in (query or {}).items() if value is not None}
        cause = ""
        for turn in range(_ROUNDS * len(self._addresses)):
            if turn == len(self._addresses):
                time.sleep(_PAUSE_S)
            place = self._next % len(self._addresses)
            try:
                response = self._client.request(
                    method, self._addresses[place] + path, params=params, json=body
                )
            except _httpx().TransportError as error:
                cause = str(error) or type(error).__name__
            else:
                if response.status_code < _NOT_READY:
                    return _answer(response)
                cause = str(_refusal(response))
            # Another thread may have moved on already.
            self._next = place + 1
        raise RegistryAwayError(", ".join(map(without_secrets, self._addresses)), cause)

    def close(self) -> None:
        self._client.close()


def without_secrets(address: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _answer(response: "httpx.Response") -> Any:
    if not response.is_success:
        raise _refusal(response)
    try:
        return response.json()
    except ValueError:
        raise _stranger(response) from None


def _refusal(response: "httpx.Response") -> RegistryError:
    try:
        told = response.json()
        return RegistryError(told["message"], told["error_code"], response.status_code)
    except (ValueError, KeyError, TypeError):
        return _stranger(response)


def _stranger(response: "httpx.Response") -> RegistryError:
    where = f"{response.url.scheme}://{response.url.netloc.decode()}"
    return RegistryError(
        f"{where} answered {response.status_code} in words that are no registry's: "
        "does a schema registry run there?",
        response.status_code,
        response.status_code,
    )


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _verify(tls_ca: Path | str | None, tls_verify: bool) -> Any:
    if tls_ca is None or not tls_verify:
        return tls_verify
    import ssl

    return ssl.create_default_context(cafile=tls_ca)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise ImportError(
            "schemas need httpx, which is not installed: pip install 'kafkaesque-broker[schemas]'"
        ) from None
    return httpx
