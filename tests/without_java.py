"""An environment in which no Java is found, but everything else is."""

import os
from pathlib import Path


def without_java(directory: Path) -> dict[str, str]:
    """PATH is a directory of links to the programs on PATH; caches are in `directory` too."""
    programs = directory / "programs"
    programs.mkdir(parents=True)
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK")}
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        kept.pop(name, None)
    return {**kept, "PATH": str(programs), "XDG_CACHE_HOME": str(directory / "cache")}
