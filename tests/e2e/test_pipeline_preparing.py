"""Spark's classes loaded ahead of time: made beside the first pipeline, taken by the next."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.without_java import without_java

pytestmark = pytest.mark.slow

PREPARE = """
import sys, time
from kafkaesque.pipelines.preparing import Preparing
with Preparing("local[2]", after_s=0):
    while not eval(sys.argv[1]):
        time.sleep(0.1)
"""
DOCTOR = [sys.executable, "-m", "kafkaesque", "pipeline", "doctor", "--run", "--format", "json"]


def prepare(directory: Path, env: dict[str, str], until: str) -> None:
    condition = f"[*__import__('pathlib').Path({str(directory)!r}).rglob({until!r})]"
    subprocess.run([sys.executable, "-c", PREPARE, condition], env=env, check=True)


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_what_the_first_one_made_the_next_one_takes(tmp_path: Path) -> None:
    env = without_java(tmp_path)
    prepare(tmp_path / "cache", env, "spark/jvm-*.aot")
    done = subprocess.run(DOCTOR, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    notes = {finding["name"]: finding["note"] for finding in told["found"]}
    assert notes["caches"] == "AOT cache there"
    assert "AOT cache, made once" not in [step["name"] for step in told["steps"]]


def test_a_pipeline_that_ends_gives_up_what_it_was_making(tmp_path: Path) -> None:
    env = without_java(tmp_path)
    prepare(tmp_path / "cache", env, ".aot-*/said")
    spark = tmp_path / "cache" / "kafkaesque" / "spark"
    assert not [each.name for each in spark.iterdir() if "aot" in each.name]
