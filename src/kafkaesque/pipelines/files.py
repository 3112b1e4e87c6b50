"""A user's file of pipelines: loaded, looked through, started.

What is wrong with it (a name that is nothing, a sink that two queries write to, a function that
gives no frame) is said before any query is started. Above: cli/pipeline/. Below: declaring.py,
sources.py, sinks.py.
"""

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.declaring import Pipeline
from kafkaesque.pipelines.failures import PipelineError, reason_of
from kafkaesque.pipelines.sinks import Sink
from kafkaesque.pipelines.sources import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Flow:
    """A pipeline with its sources and its sink found."""

    pipeline: Pipeline
    sources: Mapping[str, Source]
    sink: Sink

    def frame(self, context: Context) -> "DataFrame":
        """What it writes. Raises PipelineError, and what the function raises."""
        from pyspark.sql import DataFrame

        query = self.pipeline.name
        frames = {name: source.frame(context, query) for name, source in self.sources.items()}
        made = self.pipeline(**frames)
        if not isinstance(made, DataFrame):
            raise PipelineError(
                f"{query} gives back {type(made).__name__}, not a DataFrame: return the frame "
                "that is to be written"
            )
        if not made.isStreaming:
            raise PipelineError(
                f"{query} gives back a frame that is no stream: begin with what it is given"
            )
        self.sink.check(made, self.pipeline.mode)
        return made


@dataclass(frozen=True, slots=True)
class PipelineFile:
    name: str
    path: Path
    flows: tuple[Flow, ...]

    def start(self, context: Context) -> "list[StreamingQuery]":
        made = [(flow, flow.frame(context)) for flow in self.flows]
        return [
            flow.sink.start(context, frame, flow.pipeline.name, flow.pipeline.mode)
            for flow, frame in made
        ]


def require_file(path: Path) -> str:
    """The name of a file of pipelines. Raises PipelineError for what cannot be one."""
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise PipelineError(
            f"{path} is no file of pipelines: its name ends in .py and could name a module"
        )
    if not path.is_file():
        raise PipelineError(f"there is no file {path}: make one with `kafkaesque pipeline new`")
    return path.stem


def load(path: Path) -> PipelineFile:
    """Raises PipelineError. Spark must run by then: a file may declare functions of its own to it,
    and Spark wants to know their types at once."""
    name = require_file(path)
    module = _module(path)
    pipelines = [each for each in vars(module).values() if isinstance(each, Pipeline)]
    if not pipelines:
        raise PipelineError(
            f"{path} has no pipeline: put @pipeline(to=…) before a function, "
            "or begin with `kafkaesque pipeline new`"
        )
    flows = tuple(_flow(each, module) for each in pipelines)
    _require_apart(flows, path)
    return PipelineFile(name, path, flows)


def _flow(pipeline: Pipeline, module: ModuleType) -> Flow:
    sources = {
        name: _found(module, name, "frame", f"{pipeline.name} reads {name!r}", "source")
        for name in pipeline.sources
    }
    sink = _found(
        module, pipeline.to, "start", f"{pipeline.name} writes to {pipeline.to!r}", "sink"
    )
    return Flow(pipeline, sources, sink)


def _found(module: ModuleType, name: str, method: str, what: str, kind: str) -> Any:
    known = {
        key: value
        for key, value in vars(module).items()
        if hasattr(value, method) and not isinstance(value, type)
    }
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    example = 'TopicSource("orders")' if kind == "source" else 'TopicSink("orders")'
    cure = f"did you mean {near[0]}?" if near else f"write {name} = {example} in the file"
    raise PipelineError(f"{what}, and the file has no {kind} of that name: {cure}")


def _require_apart(flows: tuple[Flow, ...], path: Path) -> None:
    """Two queries with one sink would each take the other for its own past."""
    sinks = [flow.pipeline.to for flow in flows]
    for name in _repeated(sinks):
        writers = " and ".join(flow.pipeline.name for flow in flows if flow.pipeline.to == name)
        raise PipelineError(
            f"{path}: {writers} both write to {name!r}: give each a sink of its own "
            "(two sinks may have the same topic)"
        )


def _repeated(names: list[T]) -> Iterator[T]:
    return (name for index, name in enumerate(names) if name in names[:index])


def _module(path: Path) -> ModuleType:
    """What the file imports may lie beside it."""
    home = path.parent.resolve()
    sys.path.insert(0, str(home))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except PipelineError:
        raise
    except Exception as error:
        lines = [
            each.lineno for each in extract_tb(error.__traceback__) if Path(each.filename) == path
        ]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise PipelineError(f"{where}: {type(error).__name__}: {reason_of(error)}") from error
    _ship(home)
    return module


def _ship(home: Path) -> None:
    """Functions of the file, and of those beside it, go to Spark's workers as they are: the workers
    have no such modules."""
    from pyspark import cloudpickle

    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and Path(file).parent == home:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
