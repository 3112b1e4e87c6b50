"""The certificate that a gateway shows: what is loaded, what is refused, what a reload changes."""

import logging
import ssl
import subprocess
from pathlib import Path

import pytest
from tests.certificates import make_certificate

from kafkaesque.errors import StartError
from kafkaesque.gateway.tls import reload, server_context


def directory(above: Path, name: str) -> Path:
    path = above / name
    path.mkdir()
    return path


def shown(context: ssl.SSLContext) -> bytes | None:
    """The certificate that a client is shown, found out in memory."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
    return client.getpeercert(binary_form=True)


def test_without_a_certificate_there_is_no_tls(tmp_path: Path) -> None:
    assert server_context(None, None) is None
    with pytest.raises(StartError, match="--tls-cert"):
        server_context(None, tmp_path / "key.pem")


def test_clients_are_shown_the_certificate(tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    context = server_context(cert, key)
    assert context is not None
    assert shown(context) == ssl.PEM_cert_to_DER_cert(cert.read_text())


def test_certificate_and_key_may_be_in_one_file(tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    cert.write_text(cert.read_text() + key.read_text())
    context = server_context(cert, None)
    assert context is not None
    assert shown(context)


def test_a_renewed_certificate_is_shown_to_new_clients(tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    context = server_context(cert, key)
    assert context is not None
    before = shown(context)
    make_certificate(tmp_path)
    assert reload(context, cert, key)
    assert shown(context) not in (before, None)


def test_broken_files_leave_the_certificate_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = make_certificate(tmp_path)
    context = server_context(cert, key)
    assert context is not None
    before = shown(context)
    make_certificate(directory(tmp_path, "other")).key.replace(key)
    with caplog.at_level(logging.ERROR):
        assert not reload(context, cert, key)
    assert "stays in use" in caplog.text
    assert shown(context) == before


def test_files_that_cannot_be_used_are_refused_with_the_cause(tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    other_key = make_certificate(directory(tmp_path, "other")).key
    secret_key = tmp_path / "secret.key"
    command = ["openssl", "pkey", "-aes256", "-passout", "pass:x"]
    command += ["-in", str(key), "-out", str(secret_key)]
    subprocess.run(command, check=True)
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    for cert_path, key_path, cause in (
        (tmp_path / "absent.pem", key, "No such file"),
        (cert, tmp_path / "absent.key", "No such file"),
        (cert, None, "--tls-key"),
        (rubbish, key, "PEM"),
        (cert, rubbish, "PEM"),
        (cert, other_key, "does not belong"),
        (cert, secret_key, "has a password"),
    ):
        with pytest.raises(StartError) as caught:
            server_context(cert_path, key_path)
        assert cause in str(caught.value)
