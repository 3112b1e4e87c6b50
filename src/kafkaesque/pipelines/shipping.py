"""What Spark's workers on other machines are given: our packages, as a zip that Python imports.

They are plain Python. What they stand on (numpy, pyarrow and others of the extra `spark`) has
compiled parts, and has to be in the workers' own Python: `NEEDED` names it. The zip is made once
for each state of the sources.
Above: session.py. Below: starting/caches.py.
"""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from kafkaesque.pipelines.starting.caches import cache_directory, key

NEEDED = ("confluent-kafka", "cramjam", "crc32c", "fastavro", "numpy", "orjson", "pyarrow")
"""Distributions that workers import."""


def packed() -> Path:
    """The zip of the packages as they are now."""
    files = sorted(_files())
    state = [(name, path.stat().st_size, path.stat().st_mtime_ns) for name, path in files]
    made = cache_directory() / f"kafkaesque-{key(state)}.zip"
    if not made.is_file():
        _pack(files, made)
    return made


def _files() -> Iterator[tuple[str, Path]]:
    home = Path(__file__).parents[1]
    packages = [home, *home.parent.glob("pyspark_kafkaesque*")]
    for package in packages:
        for path in package.rglob("*"):
            if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts:
                yield str(path.relative_to(home.parent)), path


def _pack(files: list[tuple[str, Path]], made: Path) -> None:
    made.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=made.parent, prefix=f".{made.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for inside, path in files:
                archive.write(path, inside)
        Path(name).replace(made)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
