"""`kafkaesque console` where it cannot run, and what it costs those who do not run it."""

import subprocess
import sys

WITHOUT_NICEGUI = """
import sys
sys.modules["nicegui"] = None
from kafkaesque.cli.main import main
main(["console", "--port", "0"])
"""


def python(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_without_its_extra_it_says_what_to_install() -> None:
    done = python(WITHOUT_NICEGUI)
    assert done.returncode == 1
    assert done.stderr == (
        "kafkaesque: the console needs nicegui, which is not installed: "
        "pip install 'kafkaesque-broker[web]'\n"
    )


def test_a_fanout_is_named_by_its_url() -> None:
    done = python(
        "from kafkaesque.cli.main import main\n"
        "main(['console', '--port', '0', '--fanout', '127.0.0.1:8083'])"
    )
    assert done.returncode == 2
    assert "write it as in http://127.0.0.1:8083" in done.stderr


def test_the_command_line_loads_no_web_framework_for_the_sake_of_it() -> None:
    done = python("import sys, kafkaesque.cli.main; print(*sys.modules)")
    assert "kafkaesque.cli.console" in done.stdout.split()
    assert {"nicegui", "fastapi", "uvicorn"}.isdisjoint(done.stdout.split())
