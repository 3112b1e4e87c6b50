"""The schemas that events are written with, as requests name them: by an id, or by a subject.

    ?value_schema_id=7&key_schema=ticks-key     or the same beside "events" in the body

`schema_id` and `schema` are short for the value's. A subject means its latest version, looked up
again after a few seconds. Registries are asked in threads.
Above: write.py, gateway.py. Below: client/json_encoder.py, ../schemas.py.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafkaesque.client.json_encoder import JsonEncoder, encoder_of_id, encoder_of_subject
from kafkaesque.client.registry import RegistryAwayError, RegistryError
from kafkaesque.gateway.events.new_event import AS_WRITTEN, Shape
from kafkaesque.gateway.events.problems import ProblemError, bad_parameter

if TYPE_CHECKING:
    from kafkaesque.gateway.schemas import Schemas

_LATEST_FOR_S = 5.0
_MOST_KEPT = 1000


class Encoders:
    def __init__(self, schemas: "Schemas | None") -> None:
        self._schemas = schemas
        self._kept: dict[int | str, tuple[float, JsonEncoder]] = {}

    async def shape(self, names: Mapping[str, Any]) -> Shape:
        """Of what a request names. Raises ProblemError."""
        if not names:
            return AS_WRITTEN
        return Shape(await self._part(names, "key"), await self._part(names, "value"))

    async def _part(self, names: Mapping[str, Any], part: str) -> JsonEncoder | None:
        by_id, by_subject = f"{part}_schema_id", f"{part}_schema"
        schema_id, subject = names.get(by_id), names.get(by_subject)
        if schema_id is None and subject is None:
            return None
        if schema_id is not None and subject is not None:
            raise bad_parameter(by_id, f"give {by_id} or {by_subject}, not both")
        if schema_id is not None:
            if type(schema_id) is not int or not 0 < schema_id <= 0x7FFF_FFFF:
                raise bad_parameter(by_id, "it must be the number of a schema, as in 7")
            return await self._encoder(schema_id, by_id)
        if not isinstance(subject, str) or not subject:
            raise bad_parameter(by_subject, "it must be the name of a subject, as in ticks-value")
        return await self._encoder(subject, by_subject)

    async def _encoder(self, name: int | str, parameter: str) -> JsonEncoder:
        known = self._kept.get(name)
        if known is not None and (isinstance(name, int) or time.monotonic() < known[0]):
            return known[1]
        encoder = await self._ask(name, parameter)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[name] = time.monotonic() + _LATEST_FOR_S, encoder
        return encoder

    async def _ask(self, name: int | str, parameter: str) -> JsonEncoder:
        if self._schemas is None:
            raise bad_parameter(
                parameter, "there is no registry here: start the gateway with --registry"
            )
        registry = self._schemas.registry
        try:
            if isinstance(name, int):
                return await asyncio.to_thread(encoder_of_id, registry, name)
            return await asyncio.to_thread(encoder_of_subject, registry, name)
        except RegistryAwayError as error:
            raise ProblemError(503, "REGISTRY_NOT_AVAILABLE", str(error)) from None
        except RegistryError as error:
            status = 404 if error.is_unknown else 502
            more = {"parameter": parameter}
            raise ProblemError(status, "UNKNOWN_SCHEMA", str(error), more=more) from None
        except (ImportError, ValueError) as error:
            raise bad_parameter(parameter, f"this schema cannot be used: {error}") from None
