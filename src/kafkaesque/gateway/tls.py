"""TLS towards the clients of a gateway: the certificate that it shows, and that one renewed.

`reload` puts the files, as they are now, into the context that is in use: connections that are
open keep what they began with, new ones get the new certificate. Above: events/, fanout/.
"""

import logging
import ssl
from pathlib import Path

from kafkaesque.errors import StartError

logger = logging.getLogger(__name__)


def server_context(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """None without a certificate. The key may be in the certificate's file. StartError if they
    cannot be used.
    """
    if cert is None:
        if key is not None:
            raise StartError("--tls-key needs --tls-cert: the certificate that belongs to it")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load(context, cert, key)
    return context


def reload(context: ssl.SSLContext, cert: Path, key: Path | None) -> bool:
    """Broken files change nothing, are logged, and give False."""
    try:
        # Into a new one first: a half loaded pair would spoil the context that is in use.
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), cert, key)
        _load(context, cert, key)
    except StartError as error:
        logger.error("%s; the certificate that was read before stays in use", error)
        return False
    logger.info("read the certificate in %s", cert)
    return True


def _load(context: ssl.SSLContext, cert: Path, key: Path | None) -> None:
    for path in filter(None, (cert, key)):
        _require_readable(path)
    try:
        # A password would be asked for at the terminal, and nobody need sit there.
        context.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        raise StartError(_cause(error, cert, key)) from None


def _require_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise StartError(
            f"cannot read {path} ({error.strerror}): correct --tls-cert and --tls-key"
        ) from None


def _no_password() -> str:
    raise StartError("the TLS key has a password: give one without, as openssl pkey writes it")


def _cause(error: ssl.SSLError, cert: Path, key: Path | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {key or cert} does not belong to the certificate in {cert}"
    if key is None:
        return f"{cert} must have a certificate and its key, in PEM form; or name one in --tls-key"
    return f"{cert} and {key} must be a certificate and its key, in PEM form"
