"""The console as a user runs it: `kafkaesque console` in a process of its own, on a free port."""

import re
from pathlib import Path

from tests.serving_process import ServingProcess

_SERVES = re.compile(r"kafkaesque console on (http://\S+) \(brokers \S+\); stop with Ctrl-C\n")


class ConsoleProcess(ServingProcess):
    def __init__(self, bootstrap: str, log_path: Path, *args: str) -> None:
        command = ["console", "--brokers", bootstrap, "--port", "0", *args]
        super().__init__(command, _SERVES, log_path)
        self.url = self.found[1]
