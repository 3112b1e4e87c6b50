"""A certificate for this machine's loopback, made by the `openssl` command: its own authority."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest


class Certificate(NamedTuple):
    certificate: Path
    key: Path


def make_certificate(directory: Path, names: str = "DNS:localhost,IP:127.0.0.1") -> Certificate:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no `openssl` command to make a certificate with: install it")
    made = Certificate(directory / "certificate.pem", directory / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt"]
    command += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", f"subjectAltName={names}"]
    command += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return made
