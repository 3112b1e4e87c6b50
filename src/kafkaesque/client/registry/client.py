"""`RegistryClient`: a schema registry's questions and commands, as calls that wait.

    with RegistryClient("http://127.0.0.1:8081") as registry:
        place = registry.register("ticks-value", Schema('{"type": "record", …}'))
        registry.schema(place.id).text

What an id means never changes, and is remembered; all else is asked each time. From several
addresses, separated by commas, the next is tried when one is away. Any thread may call; in a
program that awaits, call in a thread (`asyncio.to_thread`).
Above: registry_serde.py, decoder.py, cli/schema/, console/. Below: transport.py, schema.py.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from kafkaesque.client.registry.schema import Registered, Schema, registered_of, schema_of
from kafkaesque.client.registry.transport import Transport, without_secrets

DEFAULT_URL = "http://127.0.0.1:8081"
VARIABLE = "KAFKAESQUE_REGISTRY"
MAX_REMEMBERED = 10_000

Version: TypeAlias = int | Literal["latest"]


class RegistryClient:
    def __init__(
        self,
        url: str | None = None,
        *,
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
        tls_ca: Path | str | None = None,
        tls_verify: bool = True,
        timeout_s: float = 10.0,
    ) -> None:
        self.url = url or os.environ.get(VARIABLE) or DEFAULT_URL
        self._transport = Transport(
            _addresses(self.url),
            user=user,
            password=password,
            token=token,
            tls_ca=tls_ca,
            tls_verify=tls_verify,
            timeout_s=timeout_s,
        )
        self._ask = self._transport.ask
        self._schemas: dict[tuple[str, int | str, str | None], Schema] = {}

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Registered:
        """As the subject's next version, or the one that it is already."""
        path = f"/subjects/{_name(subject)}/versions"
        query = {"normalize": normalize or None}
        return registered_of(self._ask("POST", path, query, schema.as_json()), subject, schema)

    def lookup(
        self, subject: str, schema: Schema, *, deleted: bool = False, normalize: bool = False
    ) -> Registered:
        """Where this very schema is in the subject. Raises RegistryError if it is not there."""
        query = {"deleted": deleted or None, "normalize": normalize or None}
        path = f"/subjects/{_name(subject)}"
        return registered_of(self._ask("POST", path, query, schema.as_json()), subject, schema)

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Schema:  # noqa: A002
        """`subject` says in which context the id is meant, if not in the default one."""
        key = (_context(subject), id, format)
        query = {"subject": subject, "format": format}
        return self._remembered(key, f"/schemas/ids/{id}", query)

    def schema_by_guid(self, guid: str, format: str | None = None) -> Schema:  # noqa: A002
        key = ("", guid, format)
        return self._remembered(key, f"/schemas/guids/{_name(guid)}", {"format": format})

    def places(self, id: int, *, subject: str | None = None) -> list[tuple[str, int]]:  # noqa: A002
        """The subjects and versions that have the schema of this id."""
        told = self._ask("GET", f"/schemas/ids/{id}/versions", {"subject": subject})
        return [(each["subject"], each["version"]) for each in told]

    def subjects(self, *, prefix: str = "", deleted: bool = False) -> list[str]:
        query = {"subjectPrefix": prefix or None, "deleted": deleted or None}
        return list(self._ask("GET", "/subjects", query))

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        query = {"deleted": deleted or None}
        return list(self._ask("GET", f"/subjects/{_name(subject)}/versions", query))

    def version(
        self,
        subject: str,
        version: Version = "latest",
        *,
        deleted: bool = False,
        format: str | None = None,  # noqa: A002
    ) -> Registered:
        path = f"/subjects/{_name(subject)}/versions/{version}"
        query = {"deleted": deleted or None, "format": format}
        return registered_of(self._ask("GET", path, query), subject)

    def referenced_by(self, subject: str, version: Version) -> list[int]:
        """The ids of the schemas that refer to this one."""
        path = f"/subjects/{_name(subject)}/versions/{version}/referencedby"
        return list(self._ask("GET", path))

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """The versions that are deleted. For good only what was deleted before."""
        query = {"permanent": permanent or None}
        return list(self._ask("DELETE", f"/subjects/{_name(subject)}", query))

    def delete_version(self, subject: str, version: Version, *, permanent: bool = False) -> int:
        path = f"/subjects/{_name(subject)}/versions/{version}"
        return int(self._ask("DELETE", path, {"permanent": permanent or None}))

    def check(
        self,
        subject: str,
        schema: Schema,
        version: Version | None = "latest",
        *,
        normalize: bool = False,
    ) -> list[str]:
        """Why it is not compatible with that version, or, with None, with those that matter."""
        path = f"/compatibility/subjects/{_name(subject)}/versions"
        query = {"verbose": True, "normalize": normalize or None}
        if version is not None:
            path += f"/{version}"
        told = self._ask("POST", path, query, schema.as_json())
        if told["is_compatible"]:
            return []
        return list(told.get("messages") or ["it is not compatible; the registry does not say why"])

    def config(
        self, subject: str | None = None, *, default_to_global: bool = True
    ) -> dict[str, Any]:
        """Of a subject, or of all that have none of their own."""
        query = {"defaultToGlobal": True if subject and default_to_global else None}
        return dict(self._ask("GET", _path("/config", subject), query))

    def set_config(self, subject: str | None = None, **fields: Any) -> dict[str, Any]:
        """As in `set_config("ticks-value", compatibility="FULL")`; snake_case is translated."""
        body = {_camel_case(name): value for name, value in fields.items()}
        return dict(self._ask("PUT", _path("/config", subject), None, body))

    def delete_config(self, subject: str | None = None) -> dict[str, Any]:
        """The subject follows the global one again."""
        return dict(self._ask("DELETE", _path("/config", subject)))

    def mode(self, subject: str | None = None, *, default_to_global: bool = True) -> str:
        query = {"defaultToGlobal": True if subject and default_to_global else None}
        return str(self._ask("GET", _path("/mode", subject), query)["mode"])

    def set_mode(self, subject: str | None, mode: str, *, force: bool = False) -> str:
        query = {"force": force or None}
        return str(self._ask("PUT", _path("/mode", subject), query, {"mode": mode})["mode"])

    def delete_mode(self, subject: str) -> str:
        return str(self._ask("DELETE", _path("/mode", subject))["mode"])

    def types(self) -> list[str]:
        return list(self._ask("GET", "/schemas/types"))

    def contexts(self) -> list[str]:
        return list(self._ask("GET", "/contexts"))

    @property
    def where(self) -> str:
        """Its addresses, for people to read."""
        return ", ".join(map(without_secrets, _addresses(self.url)))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "RegistryClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RegistryClient of {self.where}>"

    def _remembered(
        self, key: tuple[str, int | str, str | None], path: str, query: Mapping[str, Any]
    ) -> Schema:
        known = self._schemas.get(key)
        if known is None:
            known = schema_of(self._ask("GET", path, query))
            if len(self._schemas) >= MAX_REMEMBERED:
                self._schemas.clear()
            self._schemas[key] = known
        return known


def _addresses(url: str) -> tuple[str, ...]:
    addresses = tuple(each.strip().rstrip("/") for each in url.split(",") if each.strip())
    for address in addresses or (url,):
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"{address!r} is no registry's address: write http://HOST:PORT")
    return addresses


def _name(text: str) -> str:
    return quote(text, safe="")


def _path(path: str, subject: str | None) -> str:
    return path if subject is None else f"{path}/{_name(subject)}"


def _context(subject: str | None) -> str:
    """`:.sales:ticks-value` is of the context `.sales`."""
    if subject is None or not subject.startswith(":."):
        return ""
    return subject[1:].partition(":")[0]


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
