"""The registry as a user runs it: `kafkaesque registry` in a process of its own, on a free port."""

import re
from pathlib import Path

from tests.serving_process import PATIENT, ServingProcess

_SERVES = re.compile(r"kafkaesque registry on (http://\S+).*\n")


class RegistryProcess(ServingProcess):
    def __init__(self, bootstrap: str, log_path: Path, *args: str, port: int = 0) -> None:
        command = ["registry", "--brokers", bootstrap, "--host", "127.0.0.1"]
        super().__init__([*command, "--port", str(port), *args], _SERVES, log_path)
        self.url = self.found[1]
        self.port = int(self.url.rpartition(":")[2])


class PatientRegistryProcess(RegistryProcess):
    """Waits longer for a broker."""

    command = PATIENT
