"""What a registry refuses, and a registry that is not there. Above: transport.py, client.py."""

SUBJECT_NOT_FOUND = 40401
VERSION_NOT_FOUND = 40402
SCHEMA_NOT_FOUND = 40403
INVALID_SCHEMA = 42201

_NOT_FOUND = 404
_AWAY = 503


class RegistryError(Exception):
    """`code` is the registry's own number (Confluent's), `status` that of HTTP."""

    def __init__(self, message: str, code: int, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @property
    def is_unknown(self) -> bool:
        """A registry says that it has no such subject, version or schema."""
        return self.code // 100 == _NOT_FOUND


class RegistryAwayError(RegistryError):
    """Nobody answered at any of the addresses: the same question may succeed later."""

    def __init__(self, addresses: str, cause: str) -> None:
        super().__init__(
            f"no schema registry answers at {addresses} ({cause}): start one with `kafkaesque "
            "registry`, or name yours (registry=…, --registry or KAFKAESQUE_REGISTRY)",
            _AWAY,
            _AWAY,
        )
