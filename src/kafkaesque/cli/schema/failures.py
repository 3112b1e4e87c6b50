"""What a registry refuses, as a command says it: its reason, and what to do about it.

The registry says the reason; what to do is ours, by Confluent's number of the error. A registry
that is away says both already. Above: connecting.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kafkaesque.cli.output import CommandError

LIST = "see which there are with `kafkaesque schema list`"
VERSIONS = "see which versions there are with `kafkaesque schema list`"
INCOMPATIBLE = (
    "see what has changed with `kafkaesque schema diff`, and what is demanded with "
    "`kafkaesque schema config`"
)
CURES = {
    40401: LIST,
    40402: VERSIONS,
    40403: "see which schemas there are with `kafkaesque schema list`",
    40404: "see what is left of it with `kafkaesque schema list --deleted`",
    40405: "delete it without --permanent first",
    40406: "see what is left of it with `kafkaesque schema list --deleted`",
    40407: "delete it without --permanent first",
    40408: "it has none of its own, and the global one holds: `kafkaesque schema config`",
    40409: "it has none of its own, and the global one holds: `kafkaesque schema mode`",
    409: INCOMPATIBLE,
    40901: INCOMPATIBLE,
    42201: "correct the schema, or its --type or --reference",
    42205: "see what is allowed with `kafkaesque schema mode`",
    42206: "delete the schemas that refer to it first",
}
UNAUTHORIZED = (401, 403)


@contextmanager
def in_our_words() -> Iterator[None]:
    """What a registry refuses becomes a CommandError."""
    try:
        yield
    except Exception as error:
        # Imported only where something went wrong: its module loads httpx.
        from kafkaesque.client.registry import RegistryError

        if not isinstance(error, RegistryError):
            raise
        raise CommandError(refusal(str(error), error.code, error.status)) from None


def refusal(reason: str, code: int, status: int) -> str:
    """One line, whatever the registry has said."""
    sentence = " ".join(reason.split()).rstrip(".")
    cure = CURES.get(code)
    if cure is None and status in UNAUTHORIZED:
        cure = "log in with --registry-user and --registry-password, or with --registry-token"
    return f"{sentence}: {cure}" if cure and cure not in sentence else sentence
