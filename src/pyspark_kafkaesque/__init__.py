"""Where Spark finds `format("kafkaesque")`: a package named pyspark_… with a class DefaultSource.

Every session that uses any source of Python's imports this file: it loads nothing but what Spark
has loaded already. Below: kafkaesque/pipelines/source/, kafkaesque/pipelines/sink/.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kafkaesque.pipelines.sink.batch import BatchWriter
    from kafkaesque.pipelines.sink.stream import StreamWriter
    from kafkaesque.pipelines.source.batch import BatchReader
    from kafkaesque.pipelines.source.decoding.pinned import Pinned
    from kafkaesque.pipelines.source.stream import StreamReader

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    _pinned: "Pinned | None" = None
    """Found in `schema`, which Spark asks first; then it sends this object on."""

    @classmethod
    def name(cls) -> str:
        return "kafkaesque"

    def schema(self) -> str:
        from kafkaesque.pipelines.source.decoding.declaring import declaration

        columns, self._pinned = declaration(self.options)
        return columns

    def reader(self, schema: "StructType") -> "BatchReader":
        from kafkaesque.pipelines.source.batch import BatchReader
        from kafkaesque.pipelines.source.decoding.declaring import decoding_of
        from kafkaesque.pipelines.source.options import batch_options

        decoding = decoding_of(self.options, schema, self._pinned)
        return BatchReader(batch_options(self.options), decoding)

    def streamReader(self, schema: "StructType") -> "StreamReader":  # noqa: N802
        from kafkaesque.pipelines.source.decoding.declaring import decoding_of
        from kafkaesque.pipelines.source.options import stream_options
        from kafkaesque.pipelines.source.stream import StreamReader

        decoding = decoding_of(self.options, schema, self._pinned)
        return StreamReader(stream_options(self.options), decoding)

    def writer(self, schema: "StructType", overwrite: bool) -> "BatchWriter":
        from kafkaesque.pipelines.sink.batch import BatchWriter
        from kafkaesque.pipelines.sink.layout import Layout
        from kafkaesque.pipelines.sink.options import appended, batch_options

        options = appended(batch_options(self.options), overwrite)
        return BatchWriter(options, Layout.of(schema, options))

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "StreamWriter":  # noqa: N802
        from kafkaesque.pipelines.sink.layout import Layout
        from kafkaesque.pipelines.sink.options import appended, stream_options
        from kafkaesque.pipelines.sink.stream import StreamWriter

        options = appended(stream_options(self.options), overwrite)
        return StreamWriter(options, Layout.of(schema, options))
