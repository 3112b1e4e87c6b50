"""What docs/howto/handlers.md shows works as it is shown."""

import re
from pathlib import Path

import pytest
from tests import foreign
from tests.commands import Commands
from tests.in_process import InProcessBroker
from tests.inner_pytest import run_pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "handlers.md"
PROGRAM = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S))


def test_its_program_passes_its_own_test(tmp_path: Path) -> None:
    assert PROGRAM.count("@app.handle") == 5
    said = run_pytest(tmp_path, {"test_orders.py": PROGRAM})
    assert "1 passed" in said, said


def test_its_program_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "orders.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with InProcessBroker(None) as broker:
        commands = Commands(broker.bootstrap, capfd)
        commands.succeed("topic", "create", "orders", "-p", 3)
        done = commands.succeed("run", "orders:app", "--check", "--log-level", "error")
        assert "bill (topic orders, group billing)" in done.out
        foreign.produce(broker.bootstrap, "orders", ['{"price": -1}', "{"])
        import orders  # type: ignore[import-not-found]

        with orders.app.running(broker.bootstrap) as app:
            foreign.until(lambda: "ledger: orders/0 @0 stopped (AssertionError: a neg" in repr(app))
            # Each group that began at the start gives up the one that is not JSON.
            foreign.until(lambda: foreign.watermarks(broker.bootstrap, "orders.dead")[1] == 3)
            foreign.until(
                lambda: foreign.committed(broker.bootstrap, "shipping", "orders").offset == 2
            )
