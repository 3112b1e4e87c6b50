"""`@pipeline`: a function from frames to a frame, between sources and a sink that have names.

The names are those of the file: each parameter of the function is a source, `to` is a sink, and
both are looked up among the file's own variables when it is run, so that they may come in any
order. Above: files of users. Below: files.py looks them up, sources.py, sinks.py.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from kafkaesque.pipelines.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Mode: TypeAlias = Literal["append", "update", "complete"]
Transform: TypeAlias = "Callable[..., DataFrame]"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One query: its name is the function's. Calling it calls the function."""

    name: str
    transform: Transform
    sources: tuple[str, ...]
    to: str
    mode: Mode = "append"

    def __call__(self, *frames: "DataFrame", **named: "DataFrame") -> "DataFrame":
        return self.transform(*frames, **named)


def pipeline(*, to: str, mode: Mode = "append") -> Callable[[Transform], Pipeline]:
    """`to` names a sink of the file; `mode` is Spark's output mode."""
    if mode not in get_args(Mode):
        raise PipelineError(f"there is no mode {mode!r}: {', '.join(get_args(Mode))}")

    def declared(transform: Transform) -> Pipeline:
        name = transform.__name__
        sources = tuple(inspect.signature(transform).parameters)
        if not sources:
            raise PipelineError(
                f"{name} reads nothing: give it a parameter with the name of a source, "
                f"as in def {name}(orders)"
            )
        return Pipeline(name, transform, sources, to, mode)

    return declared
