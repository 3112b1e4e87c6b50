"""Where a schema registry is, and how to log in to it: plain data that goes from an option to
whichever process connects.

Above: cli/registry_options.py, the configurations of the gateways. Below: registry/, imported on
use because it loads httpx.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """`url` may name several, separated by commas: the next is asked when one is away."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    tls_ca: Path | None = None
    timeout_s: float = 10.0

    def connect(self) -> "RegistryClient":
        """Nothing is asked yet."""
        from kafkaesque.client.registry import RegistryClient

        return RegistryClient(
            self.url,
            user=self.user,
            password=self.password,
            token=self.token,
            tls_ca=self.tls_ca,
            timeout_s=self.timeout_s,
        )
